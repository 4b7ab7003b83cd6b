// Package deps keeps the modules that the server is about to need in go.mod.
package deps

import (
	_ "github.com/fsnotify/fsnotify"
	_ "google.golang.org/grpc"
)
