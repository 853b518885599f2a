#!/bin/sh
# Other packages' own tests with pairsieve in their place: sh python/tests/peers.sh [--python PYTHON] [--checkouts FOLDER] [NAME...]
# NAME: torch_cluster, torch_geometric, newton, mujoco_warp; default: those that are installed. newton and mujoco_warp bring their
# tests with them. Those of the other two come from their repositories, which git clones, or lie in FOLDER under the same names.
# PYTHON has pairsieve, pytest and the packages. What is left out, and why, stands in peer_plugin.py and in pytest's summary.
set -u
here=$(cd "$(dirname "$0")" && pwd)
python=python3 checkouts="" names=""
while [ $# -gt 0 ]; do
    case $1 in
    --python) python=$2; shift ;;
    --checkouts) checkouts=$2; shift ;;
    torch_cluster | torch_geometric | newton | mujoco_warp) names="$names $1" ;;
    *) echo "peers.sh: unknown argument '$1'; accepted: --python, --checkouts, torch_cluster, torch_geometric, newton, mujoco_warp" >&2; exit 2 ;;
    esac
    shift
done
installed() { "$python" -c "import importlib.util as u, sys; sys.exit(u.find_spec('$1') is None)"; }
if [ -z "$names" ]; then
    for name in torch_geometric newton mujoco_warp; do if installed $name; then names="$names $name"; fi; done
    if installed torch; then names="torch_cluster $names"; fi
fi
[ -n "$names" ] || { echo "peers.sh: none of the packages is installed" >&2; exit 2; }
temporary=""
trap '[ -z "$temporary" ] || rm -rf "$temporary"' EXIT
if [ -z "$checkouts" ]; then checkouts=$(mktemp -d) && temporary=$checkouts; fi

clone() { # clone NAME URL
    [ -d "$checkouts/$1" ] || git clone --quiet --depth 1 "$2" "$checkouts/$1"
}
folder_of() { "$python" -c "import importlib.util as u; print(u.find_spec('$1').submodule_search_locations[0])"; }

run() { # run NAME ARGUMENT...: from a folder without modules, so that each package is the installed one
    name=$1
    shift
    echo "== $name"
    (cd "$here/../examples" && PAIRSIEVE_PEER=$name PAIRSIEVE_CHECKOUT=$checkouts/$name PYTHONPATH="$here${PYTHONPATH:+:$PYTHONPATH}" \
        "$python" -m pytest -q -rsf -W ignore -p peer_plugin -p no:cacheprovider --import-mode=importlib --rootdir=/ -c /dev/null "$@") || failed="$failed $name"
}

failed=""
for name in $names; do
    case $name in
    torch_cluster)
        clone torch_cluster https://github.com/rusty1s/pytorch_cluster && run torch_cluster "$checkouts/torch_cluster/test/test_radius.py" ;;
    torch_geometric)
        tests=$checkouts/torch_geometric/test
        export FULL_TEST=1 # TorchScript, too
        clone torch_geometric https://github.com/pyg-team/pytorch_geometric && run torch_geometric "$tests/nn/pool/test_pool.py" \
            "$tests/transforms/test_radius_graph.py" "$tests"/nn/models/test_schnet.py "$tests"/nn/models/test_dimenet.py \
            "$tests"/nn/models/test_visnet.py "$tests"/nn/models/test_gnnff.py ;;
    newton)
        tests=$(folder_of newton)/tests
        # Functions of these files that are called test_ are helpers; its tests are methods.
        run newton -o python_functions=none "$tests/test_broad_phase.py"
        run newton -o python_functions=none "$tests/test_collision_pipeline.py" -k sap ;;
    mujoco_warp)
        tests=$(folder_of mujoco_warp)/_src
        run mujoco_warp "$tests/broadphase_test.py" "$tests/collision_driver_test.py" "$tests/sleep_test.py" ;;
    esac || failed="$failed $name"
done
[ -z "$failed" ] || { echo "peers.sh: failed:$failed" >&2; exit 1; }
