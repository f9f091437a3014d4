#!/bin/bash
#SBATCH --job-name=bertdata
#SBATCH --nodes=4
#SBATCH --ntasks-per-node=1
#SBATCH --cpus-per-task=32
#SBATCH --time=04:00:00
# A command of bertdata on the nodes of a Slurm job, by a Dask cluster of its own: a worker for each core.
#     sbatch docs/slurm.sh build-corpus --wikipedia dumps --output corpus
# Input and output are on a file system that all nodes mount, or in a store; see docs/how-to/engines.md for what a cluster exposes.
set -eu

pool=${SLURM_SUBMIT_DIR:-$PWD}/dask-$SLURM_JOB_ID
mkdir -m 700 -p "$pool"

# End the cluster. Dask ignores SIGTERM while it starts, so what still runs after ten seconds is killed.
finish() {
    for signal in TERM KILL; do
        kill -$signal $(jobs -rp) 2>/dev/null || :
        for _ in $(seq 50); do
            [ -n "$(jobs -rp)" ] || break
            sleep 0.2
        done
    done
    rm -rf "$pool"
}
trap finish EXIT

export DASK_DISTRIBUTED__SCHEDULER__WORKER_SATURATION=inf        # or it may wait for ever after a worker's death
export DASK_DISTRIBUTED__SCHEDULER__NO_WORKERS_TIMEOUT=10minutes # or it waits for ever when no worker is left
quiet="--no-dashboard --dashboard-address 127.0.0.1:0 --scheduler-file $pool/scheduler.json"
here='--host "$(hostname -i | cut -d " " -f 1)"' # the address of each node that the others reach: not all of its addresses

srun --overlap --nodes=1 --ntasks=1 bash -c "exec dask scheduler --port 0 $here $quiet" >"$pool/scheduler.log" 2>&1 &
for _ in $(seq "${START_TRIES:-1500}"); do # five minutes
    [ -s "$pool/scheduler.json" ] && break
    kill -0 $! || break
    sleep 0.2
done
[ -s "$pool/scheduler.json" ] || { cat "$pool/scheduler.log" >&2; echo "the Dask scheduler did not start" >&2; exit 1; }
workers="--nworkers $SLURM_CPUS_PER_TASK --nthreads 1 --local-directory ${TMPDIR:-/tmp}"
srun --overlap --ntasks-per-node=1 bash -c "exec dask worker $workers $here $quiet" >"$pool/workers.log" 2>&1 &

address=$(python -c 'import json, sys; print(json.load(open(sys.argv[1]))["address"])' "$pool/scheduler.json")
bertdata "$@" -- --runner=DaskRunner --dask_client_address="$address" --dask_partition_size=1
