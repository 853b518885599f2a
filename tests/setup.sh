# Read by tests/run.sh, scenes/demo.sh and .ci/run: gets what a fresh machine lacks. POSIX sh.
# shellcheck shell=sh disable=SC2034,SC2154
# Callers set `root` (the source folder) and `build` (where the CUDA wheels go).

# What pairsieve-view needs, the last two to draw without a display or a GPU.
viewer_packages="libsdl2-dev libglew-dev libcglm-dev libimgui-dev libstb-dev libgl1-mesa-dri libegl1"

say() { printf '%s\n' "== $*"; }
die() { printf '%s\n' "$(basename "$0"): $*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# as_root COMMAND...: runs it as root, or fails quietly where that is not possible without a question.
as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif have sudo && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
        sudo "$@"
    else
        return 1
    fi
}

# have_package NAME: a Debian package is installed.
have_package() { dpkg-query -W -f '${Status}' "$1" 2>/dev/null | grep -q 'ok installed'; }

# install_packages NAME...: those that are missing, with one apt-get call. Fails where it cannot.
install_packages() {
    missing=
    for package in "$@"; do
        have_package "$package" || missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    have apt-get || return 1
    say "installing:$missing"
    as_root env DEBIAN_FRONTEND=noninteractive sh -c '
        apt-get install -y -q --no-install-recommends "$@" >/tmp/pairsieve-apt.$$ 2>&1 ||
            { apt-get update -q >/tmp/pairsieve-apt.$$ 2>&1 &&
              apt-get install -y -q --no-install-recommends "$@" >/tmp/pairsieve-apt.$$ 2>&1; }
        code=$?; [ $code = 0 ] || tail -n 20 /tmp/pairsieve-apt.$$ >&2; rm -f /tmp/pairsieve-apt.$$; exit $code
    ' sh $missing
}

# need COMMANDS-AND-LIBRARIES: what the build cannot do without. Commands by name, libraries as pc:NAME.
need() {
    lacking=
    for thing in "$@"; do
        case $thing in
        pc:*) pkg-config --exists "${thing#pc:}" 2>/dev/null || lacking="$lacking ${thing#pc:}" ;;
        *) have "$thing" || lacking="$lacking $thing" ;;
        esac
    done
    [ -z "$lacking" ] || die "missing:$lacking. Install a C and C++ compiler, CMake 3.25+, Ninja, pkg-config, jansson and
  cmocka (tests). Debian, Ubuntu: apt-get install build-essential cmake ninja-build pkg-config libjansson-dev libcmocka-dev
  Fedora: dnf install gcc gcc-c++ cmake ninja-build pkgconf jansson-devel libcmocka-devel
  Arch: pacman -S base-devel cmake ninja jansson cmocka    openSUSE: zypper install gcc gcc-c++ cmake ninja libjansson-devel libcmocka-devel"
}

# python_wheels FOLDER REQUIREMENT...: a virtual environment in FOLDER with these packages.
python_wheels() {
    folder=$1
    shift
    [ -f "$folder/complete" ] && return 0
    install_packages python3-venv || have python3 || return 1
    rm -rf "$folder"
    python3 -m venv "$folder" && "$folder/bin/python" -m pip install -q --disable-pip-version-check "$@" &&
        : >"$folder/complete"
}

# CMake 3.25 or newer: the system's, else a wheel in the build folder.
find_cmake() {
    cmake=cmake ctest=ctest
    version=$(cmake --version 2>/dev/null | sed -n '1s/.* \([0-9]*\)\.\([0-9]*\).*/\1 \2/p')
    set -- $version
    [ $# = 2 ] && { [ "$1" -gt 3 ] || [ "$2" -ge 25 ]; } && return 0
    say "getting CMake 3.25 or newer into $build/cmake-wheel"
    python_wheels "$build/cmake-wheel" 'cmake>=3.25,<4' || die "CMake 3.25 or newer is needed, this machine has: ${version:-none}"
    cmake=$build/cmake-wheel/bin/cmake ctest=$build/cmake-wheel/bin/ctest
}

have_gpu() { have nvidia-smi && nvidia-smi -L 2>/dev/null | grep -q '^GPU 0'; }

find_nvcc() {
    for candidate in "${CUDACXX:-}" "$(command -v nvcc 2>/dev/null)" /usr/local/cuda/bin/nvcc /opt/cuda/bin/nvcc; do
        [ -n "$candidate" ] && [ -x "$candidate" ] && { CUDACXX=$candidate; export CUDACXX; return 0; }
    done
    return 1
}

# nvcc and the CUDA runtime as wheels, of the major version that the driver allows.
get_nvcc() {
    major=$(nvidia-smi 2>/dev/null | sed -n 's/.*CUDA Version: *\([0-9]*\)\..*/\1/p' | head -n 1)
    [ -n "$major" ] || major=13
    say "a GPU but no CUDA toolkit: getting nvcc $major into $build/cuda-wheels (about 300 MB)"
    python_wheels "$build/cuda-wheels" "cuda-toolkit[nvcc,cudart,cccl]==$major.*" || return 1
    CUDACXX=$(find "$build/cuda-wheels" -name nvcc -type f -perm -u+x | head -n 1)
    [ -n "$CUDACXX" ] || return 1
    toolkit=$(dirname "$(dirname "$CUDACXX")")
    [ -e "$toolkit/lib64" ] || ln -s lib "$toolkit/lib64"
    export CUDACXX
}

# Sets cuda=ON or OFF: on where there is a GPU. $1: auto, on or off.
choose_cuda() {
    cuda=OFF
    case $1 in
    off) return 0 ;;
    auto) have_gpu || return 0 ;;
    esac
    if find_nvcc || get_nvcc; then
        cuda=ON
    elif [ "$1" = on ]; then
        die "CUDA was asked for, but there is no nvcc and it could not be installed"
    else
        say "there is a GPU, but nvcc could not be had: going on with the CPU"
    fi
}

processors() { nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2; }
