#!/usr/bin/env bash
# What needs two GPUs of one host: `bash tests/gpu/run_two.sh [tests] [bench]`, all when none is named. The package is
# importable with the Triton and torch that are to be used; NVLink's multicast stays off. Each part has a time limit.
set -uo pipefail
cd "$(dirname "$0")/../.."
python=${PYTHON:-python3}
export NCCL_NVLS_ENABLE=0 TORCH_SYMM_MEM_DISABLE_MULTICAST=1 NVSHMEM_DISABLE_NVLS=1
export TRITON_DEFAULT_FP_FUSION=1 PYTHONUNBUFFERED=1 PYTHONPATH=$PWD${PYTHONPATH:+:$PYTHONPATH}
failed=0
for part in ${*:-tests bench}; do
  case $part in
    tests) timeout -k 5 240 "$python" -m pytest -q -p no:cacheprovider tests/gpu/two_gpus ;;
    bench) timeout -k 5 120 "$python" samples/benchmarks/collectives.py ;;
    *) echo "unknown part: $part" && false ;;
  esac || failed=1
done
exit $failed
