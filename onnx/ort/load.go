package ort

/*
#cgo linux LDFLAGS: -ldl
#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// The first two functions of the library's entry table; their place has been
// fixed since its first release.
typedef struct {
	const void *(*get_api)(uint32_t version);
	const char *(*version)(void);
} pipe_api_base;

// pipe_load opens path and returns the version string, or NULL with *problem
// set to a message that the caller frees. Loading and asking for the message
// happen in one call because dlerror belongs to the thread.
static const char *pipe_load(const char *path, char **problem) {
	void *handle = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	if (handle == NULL) {
		const char *msg = dlerror();
		*problem = strdup(msg ? msg : "unknown reason");
		return NULL;
	}
	const pipe_api_base *(*entry)(void) = (const pipe_api_base *(*)(void))dlsym(handle, "OrtGetApiBase");
	if (entry == NULL) {
		dlclose(handle);
		*problem = strdup("has no OrtGetApiBase: not an ONNX Runtime library");
		return NULL;
	}
	return entry()->version();
}
*/
import "C"

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	yort "github.com/yalue/onnxruntime_go"

	"pipe/internal/sharedlib"
)

// loaded is the library of this process. It is never unloaded, because its worker threads and thread-local destructors
// would crash. A second copy would share symbols with the first.
var loaded struct {
	sync.Mutex
	path    string
	version string
}

// load loads the library at path, once per process.
func load(path string, nativeLog bool) (version string, err error) {
	loaded.Lock()
	defer loaded.Unlock()
	if loaded.path != "" {
		if loaded.path != path {
			return "", &LoadError{path, fmt.Errorf("this process already uses %q", loaded.path)}
		}
		return loaded.version, nil
	}
	version, err = probe(path)
	if err != nil {
		return "", err
	}
	yort.SetSharedLibraryPath(path)
	level := yort.WithLogLevelFatal()
	if nativeLog {
		level = yort.WithLogLevelWarning()
	}
	if err := yort.InitializeEnvironment(level); err != nil {
		return "", &LoadError{path, err}
	}
	loaded.path, loaded.version = path, version
	return version, nil
}

// probe checks the file, loads it and reads its version. The binding does the same later, but cannot say which version
// it refused, and a truncated file would crash the process with a bus error.
func probe(path string) (version string, err error) {
	if err := sharedlib.CheckImage(path); err != nil {
		return "", &LoadError{path, err}
	}
	cPath := C.CString(path)
	defer C.free(unsafe.Pointer(cPath))
	var problem *C.char
	v := C.pipe_load(cPath, &problem)
	if v == nil {
		defer C.free(unsafe.Pointer(problem))
		return "", &LoadError{path, errors.New(C.GoString(problem))}
	}
	version = C.GoString(v)
	if compareVersions(version, MinVersion) < 0 {
		return "", &VersionError{Path: path, Found: version, Need: MinVersion}
	}
	return version, nil
}

// compareVersions compares the numbers in a and b from left to right: negative if a is older, zero if equal, positive
// if newer.
func compareVersions(a, b string) int {
	x, y := versionNumbers(a), versionNumbers(b)
	for i := 0; i < len(x) || i < len(y); i++ {
		if d := numberAt(x, i) - numberAt(y, i); d != 0 {
			return d
		}
	}
	return 0
}

func numberAt(v []int, i int) int {
	if i < len(v) {
		return v[i]
	}
	return 0
}

// versionNumbers returns the leading number of every dotted part that has one.
func versionNumbers(s string) []int {
	var out []int
	for part := range strings.SplitSeq(s, ".") {
		end := 0
		for end < len(part) && part[end] >= '0' && part[end] <= '9' {
			end++
		}
		if n, err := strconv.Atoi(part[:end]); err == nil {
			out = append(out, n)
		}
	}
	return out
}
