#!/usr/bin/env bash
# Everything that a GPU machine without a network can tell about one Triton version:
#
#   bash tests/gpu/run.sh 3.6.0|3.9.0 [setup] [tests] [samples] [sanitizer] [bench] [tilelang] [cutile] \
#                                          [cutile_races] [stress]   (all but the last two when none is named)
#
# What the machine lacks was put into .carry/ by tests/gpu/pack.sh. The checkout and what was carried are copied to
# $TLE_GPU_FOLDER (default /tmp/tle_gpu), where a later call finds what it did not carry itself: `setup` alone, with
# .carry/tools, then a call with .carry/mlir or .carry/triton39, works while the machine stays warm. A cache that
# pack.sh filled (.carry/cache, 2 MB) does without both: one call is enough, and needs no compiler and no MLIR there.
# TESTS names test files, BENCHES benchmarks, SAMPLES is a regular expression: only these. WATCHED names test files,
# or tests in them, that the sanitizer's part runs under racecheck, side by side; BENCH_ARGS are options of the benchmarks,
# STRESSED are beginnings of the names of samples to stress. Logs and figures go to $OUT
# (default: a folder under $TLE_GPU_FOLDER), a table comes last. Every part has its own time limit; all but `tilelang` end within ten minutes
# on one H200. The exit status is 1 when a part failed.
#
# racecheck reports of some samples with specialised warps how Triton starts them: a worker's warps read in shared memory
# which partition is theirs, and the kernel's own warps write it. Between each write and each read all threads of the
# block come to barrier 1 (BAR.SYNC 0x1 in the machine code), on every path, so that nothing is wrong there. The pattern
# alone is not reported, and with a barrier left out it is (tests/gpu/worker_state.py, on an H200); what makes the
# difference in the samples, which also hand registers over (setmaxnreg), is not known. tests/gpu/known_hazards.py finds
# the two instructions in the machine code and takes reports of them alone away; what is left counts as a failure.
# racecheck does not follow a barrier with phases at which one thread arrives for others that it has met: words handed
# over so are reported, though they are right (handed_by_one and handed_by_warps there; handed_by_each is not reported).
# So TLE_RAW_RACECHECK=1 compiles what it watches with arrivals of each thread, in a cache of Triton's of its own.
# Of sample 07, whose blocks store words in each other's shared memory by st.async, it says no more than that there is a
# race, and names no instruction (Triton 3.9.0, H200): that could not be told from a race. There the sample stores them
# plainly, before a barrier of the cluster.
set -uo pipefail
cd "$(dirname "$0")/../.."
source tests/gpu/layout.sh
triton=${1:?"which Triton: 3.6.0 or 3.9.0"}
shift
parts=${*:-setup tests samples sanitizer bench tilelang cutile}
out=${OUT:-$folder/out}
python=${PYTHON:-python3}
mkdir -p "$out" "$folder/logs"
summary=$out/summary-$triton.txt
: >"$summary"
failed=0

say() { printf '%s %s\n' "$(date +%H:%M:%S)" "$*"; }
row() { printf '%-44s %-8s %s\n' "$@" | tee -a "$summary"; }
log_name() { basename "$1" | tr : -; } # of a file, or of one test in it

result() { # name, exit status, seconds, words
  case $2 in 0) word=ok ;; 124 | 137) word=TIMEOUT failed=1 ;; *) word=FAILED failed=1 ;; esac
  row "$1" "$word" "$3 s  ${4:-}"
}
timed() { # name, limit, log, command...
  local name=$1 limit=$2 log=$3 start=$SECONDS
  shift 3
  say "$name"
  timeout -k 5 "$limit" "$@" >"$log" 2>&1
  local status=$?
  result "$name" $status $((SECONDS - start)) "$(grep -E '(passed|failed|error|skipped).* in [0-9]|ERROR SUMMARY|RACECHECK SUMMARY' "$log" | tail -1)"
  [ $status = 0 ] || tail -25 "$log"
  return $status
}

install_checkout
unpack_carried
use_triton "$triton"
export TRITON_CACHE_DIR=$folder/kernels-$triton TRITON_DEFAULT_FP_FUSION=1 PYTHONUNBUFFERED=1
export TLE_RAW_CACHE_DIR=$folder/cache-$triton GPU_TESTS_CACHE=$folder/cache-$triton
cd "$folder/checkout"
"$python" - "$triton" <<'PY' || exit 1
import sys, torch, triton, tle_raw
gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"
print(f"Triton {triton.__version__}, torch {torch.__version__}, Python {sys.version.split()[0]}, {gpu}")
sys.exit(f"this is not Triton {sys.argv[1]}" if triton.__version__ != sys.argv[1] else 0)
PY

mapfile -t existing < <(list_samples | grep -E "${SAMPLES:-.}")

part_setup() { timed doctor 60 "$out/doctor-$triton.txt" "$python" -m tle_raw doctor; cat "$out/doctor-$triton.txt"; }

part_tests() {
  local options=(-q -m gpu --durations=10)
  "$python" -c 'import xdist' 2>/dev/null || export PYTHONPATH=$PYTHONPATH:$folder/plugins
  "$python" -c 'import xdist' 2>/dev/null && options+=(-n "${JOBS:-8}")
  "$python" -c 'import pytest_timeout' 2>/dev/null && options+=(--timeout 150)
  export CONTEXT_LOST=$out/context-lost-$triton.txt # faults that ended a process
  export GPU_TESTS_FAILED=$out/failed-$triton.txt # kept where the time limit ends the run
  rm -f "$CONTEXT_LOST" "$GPU_TESTS_FAILED"
  timed "tests/gpu" "${TESTS_LIMIT:-400}" "$out/tests-$triton.txt" \
    "$python" -m pytest "${options[@]}" -p no:cacheprovider ${TESTS:-tests/gpu}
  grep -shE '^(FAILED|ERROR)' "$GPU_TESTS_FAILED" "$out/tests-$triton.txt" | cut -c1-200 | sort -u
  if [ -f "$CONTEXT_LOST" ]; then head -c 6000 "$CONTEXT_LOST"; fi
  [ -d "$folder/numpy" ] || return 0
  # Numba may be older than the machine's NumPy; the tests then skipped above.
  PYTHONPATH=$folder/numpy:$PYTHONPATH timed "tests/gpu/test_numba.py, older NumPy" 60 "$out/numba-$triton.txt" \
    "$python" -m pytest -q -m gpu -p no:cacheprovider tests/gpu/test_numba.py tests/gpu/test_contracts.py -k numba
}

part_samples() {
  for sample in "${existing[@]}"; do
    timed "$sample" 90 "$folder/logs/$(basename "$sample").txt" "$python" "$sample"
  done
  gather samples "$folder"/logs/*.py.txt
}

part_sanitizer() {
  local tool sample file watched_kernels=$TRITON_CACHE_DIR-watched
  for tool in memcheck racecheck; do
    for sample in "${existing[@]}"; do
      (
        quiet=()
        export TLE_SAMPLES_WATCHED=1 TLE_SAMPLES_COMPARE=0 # kernels of others are not ours to check
        if [ $tool = memcheck ]; then
          export PYTORCH_NO_CUDA_MEMORY_CACHING=1
          # Triton 3.9's launcher asks the driver for a shared-memory mode that it may refuse, for any kernel of more
          # than 48 KiB; failures of API calls that matter raise in Python.
          quiet=(--report-api-errors no)
        else
          export TLE_RAW_RACECHECK=1 TRITON_CACHE_DIR=$watched_kernels
        fi
        log=$folder/logs/$tool-$(basename "$sample").txt start=$SECONDS
        # What a sample starts itself is not looked at: the sixth one of the eDSL fails on purpose there.
        timeout -k 5 150 compute-sanitizer --tool $tool --launch-timeout 120 "${quiet[@]}" --target-processes application-only \
          --error-exitcode 9 "$python" "$sample" >"$log" 2>&1
        echo $? $((SECONDS - start)) >"$log.status"
      ) &
      while [ "$(jobs -rp | wc -l)" -ge "${SANITIZER_JOBS:-4}" ]; do wait -n; done
    done
  done
  for file in ${WATCHED:-}; do
    (
      log=$folder/logs/racecheck-$(log_name "$file").txt start=$SECONDS
      export GPU_TESTS_WATCHED=$watched_kernels
      timeout -k 5 "${WATCHED_LIMIT:-200}" compute-sanitizer --tool racecheck --target-processes application-only \
        --error-exitcode 9 "$python" -m pytest -q -m gpu -n 0 -p no:cacheprovider "$file" >"$log" 2>&1
      echo $? $((SECONDS - start)) >"$log.status"
    ) &
  done
  wait
  for file in ${WATCHED:-}; do
    log=$folder/logs/racecheck-$(log_name "$file").txt
    read -r status seconds <"$log.status"
    if [ "$status" = 9 ]; then
      "$python" tests/gpu/known_hazards.py "$log" "$watched_kernels" >"$log.left" 2>&1 && status=0
    fi
    result "racecheck $file" "$status" "$seconds" "$(grep -E 'SUMMARY|passed|failed' "$log" | tail -2 | tr '\n' ' ')"
    [ "$status" = 0 ] || grep -vE '^=+ +Host Frame' "$log" | tail -25
  done
  for tool in memcheck racecheck; do
    for sample in "${existing[@]}"; do
      log=$folder/logs/$tool-$(basename "$sample").txt
      read -r status seconds <"$log.status"
      words=$(grep 'SUMMARY' "$log" | tail -1 | sed 's/=* //')
      if [ $tool = racecheck ] && [ "$status" = 9 ]; then
        "$python" tests/gpu/known_hazards.py "$log" "$watched_kernels" >"$log.left" 2>&1 && status=0
        words=$(head -1 "$log.left")
      fi
      result "$tool $sample" "$status" "$seconds" "$words"
      [ "$status" = 0 ] || grep -vE '^=+ +Host Frame' "$log" | tail -25
    done
  done
  gather sanitizer "$folder"/logs/{memcheck,racecheck}-*.txt
}

part_bench() {
  measure benchmarks ${BENCHES:-region_against_cuda fused_chain launch_overhead import_time compile_time mlir_edsl}
}

# A part of its own: TileLang's side is compiled by nvcc, kernel by kernel.
part_tilelang() {
  if has_tilelang; then
    BENCH_LIMIT=${BENCH_LIMIT:-300} measure tilelang tilelang_regions
  else
    row "benchmark tilelang_regions" skipped "TileLang was not carried, and is not installed"
  fi
}

part_cutile() {
  if has_cutile; then
    BENCH_LIMIT=${BENCH_LIMIT:-240} measure cutile cutile_regions
  else
    row "benchmark cutile_regions" skipped "cuTile was not carried, and is not installed"
  fi
}

# The tests of cuTile that launch a thousand times, a few times each: what shared memory has to say of them.
part_cutile_races() {
  GPU_TESTS_TIMES=${GPU_TESTS_TIMES:-2} timed "racecheck tests/gpu/test_cutile*" 120 "$out/cutile-races-$triton.txt" \
    compute-sanitizer --tool racecheck --target-processes application-only --error-exitcode 9 \
    "$python" -m pytest -q -m gpu -p no:cacheprovider -p no:xdist tests/gpu/test_cutile.py tests/gpu/test_cutile_regions.py \
    -k "threads_see or in_order"
}

# Kernels with specialised warps, each launched 10,000 times with random sizes.
part_stress() {
  timed "stress" 120 "$out/stress-$triton.txt" "$python" tests/gpu/stress.py ${STRESSED:-} --limit 100
  cat "$out/stress-$triton.txt"
}

measure() { # the name of the file of figures, benchmarks
  local name
  rm -f "$folder"/bench-*.json
  for name in "${@:2}"; do
    timed "benchmark $name" "${BENCH_LIMIT:-150}" "$folder/logs/bench-$name.txt" \
      "$python" "samples/benchmarks/$name.py" --json "$folder/bench-$name.json" ${QUICK:+--quick} ${BENCH_ARGS:-}
    cat "$folder/logs/bench-$name.txt"
  done
  "$python" - "$out/$1-$triton.json" "$folder"/bench-*.json <<'PY'
import json, sys
from pathlib import Path
found = [json.loads(Path(p).read_text()) for p in sys.argv[2:] if Path(p).is_file()]
Path(sys.argv[1]).write_text(json.dumps(found, indent=1))
PY
}

gather() { # one file for many logs
  local log
  for log in "${@:2}"; do [ -f "$log" ] && printf '\n##### %s\n' "${log##*/}" && tail -c 20000 "$log"; done >"$out/$1-$triton.txt"
}

for part in $parts; do
  say "== $part"
  "part_$part"
done
printf '\n== Triton %s\n' "$triton"
cat "$summary"
exit $failed
