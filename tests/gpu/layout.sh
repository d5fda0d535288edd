# Sourced by run.sh and pack.sh, in the repository root: where things lie, on both machines under the same names, so
# that a cache of compiled fragments filled on one fits the other.
folder=${TLE_GPU_FOLDER:-/tmp/tle_gpu}

# The package under its import name, as a wheel would install it, and the rest of the checkout beside it.
install_checkout() {
  local site=$folder/site info
  rm -rf "$site" "$folder/checkout"
  mkdir -p "$site" "$folder/checkout"
  cp -rL tle_raw "$site/tle_raw" # its links are folders there
  find "$site" -name __pycache__ -type d -prune -exec rm -rf {} +
  info=$site/tle_raw-$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml).dist-info
  mkdir "$info"
  printf 'Metadata-Version: 2.1\nName: tle_raw\nVersion: %s\n' "$(basename "$info" .dist-info | cut -d- -f2)" >"$info/METADATA"
  sed -n '/^\[project\.entry-points/,/^$/p' pyproject.toml |
    sed 's/^\[project\.entry-points\."\(.*\)"\]/[\1]/; s/"//g' >"$info/entry_points.txt"
  cp -r tests samples pyproject.toml "$folder/checkout/"
}

# What pack.sh made, when this call carried it.
unpack_carried() {
  local name archive
  for name in tools triton39 cache mlir tilelang cutile numpy; do
    for archive in .carry/$name/*.tar.xz; do
      [ -f "$archive" ] || continue
      [ "$(cat "$folder/$name.stamp" 2>/dev/null)" = "$(cksum <"$archive")" ] && continue
      mkdir -p "$folder/$name"
      tar -C "$folder/$name" -xJf "$archive" && cksum <"$archive" >"$folder/$name.stamp"
    done
  done
  if [ -d "$folder/cache" ]; then
    for name in "$folder"/cache/*; do
      mkdir -p "$folder/$(basename "$name")"
      cp -r "$name/." "$folder/$(basename "$name")/"
    done
  fi
}

# Every sample that runs on a GPU; what starts with no digit is a part of one, or for the CPU alone.
list_samples() {
  local sample
  for sample in samples/[0-9]*/*.py samples/[0-9]*.py samples/*_edsl/[0-9]*.py samples/pycuda_*/[0-9]*.py samples/tle_struct/0*.py $(struct_samples) $(tilelang_samples) $(cutile_samples); do
    [ -f "$sample" ] && printf '%s\n' "$sample"
  done
}

struct_samples() { # all but what needs TileLang, where it is not
  local sample
  for sample in samples/tle_struct/[1-9]*.py; do
    has_tilelang || ! grep -q 'common.require("tilelang"' "$sample" && echo "$sample"
  done
}

tilelang_samples() {
  if has_tilelang; then
    echo samples/tilelang_in_triton/[0-9]*.py
  else
    echo "samples/tilelang_in_triton is left out: $python cannot import TileLang" >&2
  fi
}

cutile_samples() { has_cutile && echo samples/cutile_in_triton/[0-9]*.py; }

has_cutile() { "$python" -c 'import cuda.tile' >/dev/null 2>&1; }

has_tilelang() { "$python" -c 'import tilelang' >/dev/null 2>&1; }

# A Triton that was carried comes before the installed one.
use_triton() {
  local path=$folder/site
  [ -d "$folder/tools" ] && path=$path:$folder/tools
  [ -d "$folder/mlir" ] && path=$path:$folder/mlir
  [ -d "$folder/tilelang" ] && path=$path:$folder/tilelang
  [ -d "$folder/cutile" ] && path=$path:$folder/cutile
  [ "$1" = 3.9.0 ] && [ -d "$folder/triton39" ] && path=$folder/triton39:$path
  export PYTHONPATH=$path
}
