#!/bin/bash
# pipe costs on a Slurm cluster with a shared file system: an array of 40 tasks, 10 at a time, and gathering after all.
#
#   sbatch deploy/slurm/costs.sh
#   sbatch --dependency=afterok:JOB --wrap 'pipe costs --config costs.yaml --out /shared/run/costs.parquet --shards 40 --gather'
#
# Not tested: a cluster.
#SBATCH --job-name=pipe-costs
#SBATCH --array=0-39%10
#SBATCH --cpus-per-task=4
#SBATCH --mem=8G
#SBATCH --requeue
set -euo pipefail
exec pipe costs --config costs.yaml --out /shared/run/costs.parquet \
  --shards 40 --shard "$SLURM_ARRAY_TASK_ID" --workers 10 --quiet
