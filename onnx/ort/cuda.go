package ort

/*
#include <dlfcn.h>
#include <stdlib.h>

static int pipe_preload(const char *path) { return dlopen(path, RTLD_LAZY | RTLD_GLOBAL) != NULL; }
*/
import "C"

import (
	"path/filepath"
	"unsafe"
)

// cudaLibraries are the libraries that the CUDA provider needs, in the order of their dependencies.
var cudaLibraries = []string{
	"libcudart.so.*", "libnvJitLink.so.*", "libcublasLt.so.*", "libcublas.so.*",
	"libcurand.so.*", "libcufft.so.*", "libnvrtc.so.*", "libcudnn.so.*",
}

// preloadCUDA loads the GPU libraries beside the runtime, so that its provider finds them without LD_LIBRARY_PATH. It
// ignores libraries that cannot be loaded: the provider's own error names the missing file.
func preloadCUDA(library string) {
	for _, pattern := range cudaLibraries {
		matches, err := filepath.Glob(filepath.Join(filepath.Dir(library), pattern))
		if err != nil {
			continue
		}
		for _, path := range matches {
			cPath := C.CString(path)
			C.pipe_preload(cPath)
			C.free(unsafe.Pointer(cPath))
		}
	}
}
