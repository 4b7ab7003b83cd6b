// Package deps keeps the modules that the server is about to need in go.mod.
package deps

import (
	_ "github.com/fsnotify/fsnotify"
	_ "github.com/prometheus/client_golang/prometheus/promhttp"
	_ "google.golang.org/grpc"
)
