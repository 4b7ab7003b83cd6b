// Package deps keeps the modules that the server is about to need in go.mod.
package deps

import (
	_ "google.golang.org/grpc"
)
