#!/bin/sh
# usage: unlike_ranks.sh KIND PROGRAM MESH OTHER_MESH    one rank of `pairsieve pairs`, of which rank 1 is unlike the others
case ${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-0}}-$1 in
1-mesh) exec "$2" pairs --distributed --backend cpu --workers 1 "$4" ;;
1-boxes) exec "$2" pairs --distributed --backend cpu --workers 1 --boxes edges "$3" ;;
1-still) exec sleep 100 ;;
*) exec "$2" pairs --distributed --backend cpu --workers 1 --time-limit 5 "$3" ;;
esac
