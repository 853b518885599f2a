#!/bin/sh
# usage: run_mpi.sh RANKS PROGRAM [ARGUMENT]...   runs it on so many ranks of this machine; 77 where there is no mpirun.
#        run_mpi.sh --ends RANKS PROGRAM ...      the same, and passes when the job ends with an error within 30 s
ends=
if [ "$1" = --ends ]; then
    ends=yes
    shift
fi
ranks=$1
shift
if ! command -v mpirun >/dev/null 2>&1; then
    echo "no mpirun on this machine (Debian: openmpi-bin)"
    exit 77
fi
# More ranks than cores, as root too, as containers have it; ranks that wait give their core to others.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_btl=self,vader OMPI_MCA_btl_vader_single_copy_mechanism=none
export OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_plm_rsh_agent=/bin/false
if [ -z "$ends" ]; then
    exec mpirun -n "$ranks" "$@"
fi
timeout 30 mpirun -n "$ranks" "$@"
code=$?
case $code in
0) echo "the job ended without an error"; exit 1 ;;
124) echo "the job did not end within 30 s"; exit 1 ;;
*) echo "the job ended with code $code"; exit 0 ;;
esac
