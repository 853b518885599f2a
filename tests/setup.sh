# Read by tests/run.sh, scenes/demo.sh and .ci/run: gets what a fresh machine lacks. POSIX sh.
# shellcheck shell=sh disable=SC2034,SC2154
# Callers set `root` (the source folder) and `build` (where the CUDA wheels go).

# What pairsieve-view needs, the last two to draw without a display or a GPU.
viewer_packages="libsdl2-dev libglew-dev libcglm-dev libimgui-dev libstb-dev libgl1-mesa-dri libegl1"

# The Vulkan backend, and what its tests run on: a driver for the processor, and the layer that checks calls.
vulkan_packages="libvulkan-dev glslang-tools mesa-vulkan-drivers vulkan-validationlayers"

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
        log=$(mktemp) || exit 1
        get() { apt-get install -y -q --no-install-recommends "$@" >"$log" 2>&1; }
        get "$@" || { apt-get update -q >"$log" 2>&1 && get "$@"; }
        code=$?; [ $code = 0 ] || tail -n 20 "$log" >&2; rm -f "$log"; exit $code
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

# The CUDA version that the driver allows at most, as «12 4»; empty where it is not known.
driver_cuda() { nvidia-smi 2>/dev/null | sed -n 's/.*CUDA Version: *\([0-9]*\)\.\([0-9]*\).*/\1 \2/p' | head -n 1; }

# nvcc and the CUDA runtime as wheels, of major version $1. The wheels of CUDA 12 hold ptxas, and no nvcc.
get_wheel_nvcc() {
    say "a GPU but no CUDA toolkit: getting nvcc $1 into $build/cuda-wheels (about 300 MB)"
    python_wheels "$build/cuda-wheels" "cuda-toolkit[nvcc,cudart,cccl]==$1.*" || return 1
    CUDACXX=$(find "$build/cuda-wheels" -name nvcc -type f -perm -u+x | head -n 1)
    [ -n "$CUDACXX" ] || return 1
    toolkit=$(dirname "$(dirname "$CUDACXX")")
    [ -e "$toolkit/lib64" ] || ln -s lib "$toolkit/lib64"
    export CUDACXX
}

# nvcc 12.4 or newer of CUDA 12 from the system's packages (Debian 13 with non-free has 12.4), put into the build folder:
# installed they would take 4 GB, for libraries that nothing here uses. Needs no root.
get_debian_nvcc() {
    have apt-get && have dpkg-deb || return 1
    version=$(apt-cache policy nvidia-cuda-toolkit 2>/dev/null | sed -n 's/.*Candidate: *\([0-9]*\)\.\([0-9]*\)\..*/\1 \2/p')
    # shellcheck disable=SC2086 # two words
    set -- $version
    [ $# = 2 ] && [ "$1" = 12 ] && [ "$2" -ge 4 ] || return 1
    toolkit=$build/cuda-debian
    if [ ! -f "$toolkit/complete" ]; then
        say "getting nvcc $1.$2 from the system's packages into $toolkit (about 1 GB)"
        rm -rf "$toolkit"
        mkdir -p "$toolkit/packages" "$toolkit/bin" "$toolkit/nvvm/bin" || return 1
        (cd "$toolkit/packages" && apt-get download -q nvidia-cuda-toolkit nvidia-cuda-dev libcub-dev \
            libthrust-dev libcu++-dev >/dev/null) || return 1
        for package in "$toolkit/packages"/*.deb; do # tar complains of what one of them does not have
            dpkg-deb --fsys-tarfile "$package" | tar -x -f - -C "$toolkit" --wildcards './usr/include/*' './usr/bin/*' \
                './usr/lib/nvidia-cuda-toolkit/*' '*/libcudart*' '*/libcudadevrt.a' 2>/dev/null || :
        done
        rm -rf "$toolkit/packages"
        for program in cudafe++ fatbinary nvlink ptxas bin2c; do ln -s "../usr/bin/$program" "$toolkit/bin/$program"; done
        cp "$toolkit/usr/lib/nvidia-cuda-toolkit/bin/nvcc" "$toolkit/bin/nvcc" || return 1
        ln -s ../usr/lib/nvidia-cuda-toolkit/bin/crt "$toolkit/bin/crt"
        ln -s ../../usr/lib/nvidia-cuda-toolkit/bin/cicc "$toolkit/nvvm/bin/cicc"
        ln -s ../usr/lib/nvidia-cuda-toolkit/libdevice "$toolkit/nvvm/libdevice"
        ln -s usr/include "$toolkit/include"
        ln -s "usr/lib/$(uname -m)-linux-gnu" "$toolkit/lib64"
        # Its own profile names places of an installed package.
        printf '%s\n' 'TOP = $(_HERE_)/..' 'NVVM_BRANCH += nvvm' 'PATH += $(TOP)/nvvm/bin:$(_HERE_):' \
            'INCLUDES += "-isystem" "$(TOP)/include" $(_SPACE_)' 'LIBRARIES =+ $(_SPACE_) "-L$(TOP)/lib64"' >"$toolkit/bin/nvcc.profile"
        "$toolkit/bin/nvcc" --version >/dev/null && : >"$toolkit/complete" || return 1
    fi
    CUDACXX=$toolkit/bin/nvcc
    export CUDACXX
}

get_nvcc() {
    version=$(driver_cuda)
    # shellcheck disable=SC2086 # two words
    set -- $version
    case ${1:-13} in
    12) get_debian_nvcc ;;
    *) [ "${1:-13}" -gt 12 ] && get_wheel_nvcc "${1:-13}" ;;
    esac
}

# What brings nvcc to a machine where it could not be had: said at once, and by the callers once more at their end.
say_no_nvcc() {
    version=$(driver_cuda)
    # shellcheck disable=SC2086 # two words
    set -- $version
    no_nvcc="this machine's GPU is not used: there is no nvcc, the compiler of CUDA 12.4 or newer"
    say "$no_nvcc"
    if [ "${1:-13}" -gt 12 ]; then
        printf '%s\n' "  Install the CUDA toolkit of version $1 (package cuda-toolkit-$1-${2:-0} of NVIDIA's repository), or let pip reach its index."
    elif [ "$1" = 12 ]; then
        printf '%s\n' "  The driver allows CUDA $1.$2, and pip's index has no nvcc for CUDA 12. One of these brings it:" \
            "    Debian 13 and newer: add non-free to the apt sources, apt-get update, and start again (nothing is installed)" \
            "    NVIDIA's repository for this system: apt-get install cuda-toolkit-12-9" \
            "    conda: conda install -c conda-forge cuda-nvcc=12 cuda-cudart-static=12 cuda-cccl=12" \
            "    or a driver of version 580 or newer, which allows CUDA 13"
    else
        printf '%s\n' "  The driver allows CUDA $1.$2 at most: a driver of version 525 or newer (CUDA 12) is needed as well."
    fi
    printf '%s\n' "  Then: CUDACXX=PATH/bin/nvcc sh $0"
}

# Sets cuda=ON or OFF: on where there is a GPU. $1: auto, on or off.
choose_cuda() {
    cuda=OFF no_nvcc=
    case $1 in
    off) return 0 ;;
    auto) have_gpu || return 0 ;;
    esac
    if find_nvcc || get_nvcc; then
        cuda=ON
    elif [ "$1" = on ]; then
        say_no_nvcc >&2
        die "CUDA was asked for, but there is no nvcc and it could not be had"
    else
        say_no_nvcc
        say "going on with the CPU"
    fi
}

processors() { nproc 2>/dev/null || getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2; }
