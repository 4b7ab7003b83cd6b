package storage

import (
	"context"
	"maps"
	"net/url"
	"slices"
	"sync"
)

const fileScheme = "file"

// Opener opens the bucket that the host of a URL names. Parameters are in the query of the URL; its path is empty.
type Opener func(ctx context.Context, u *url.URL) (Bucket, error)

var registry = struct {
	sync.Mutex
	openers map[string]Opener // by scheme
}{openers: map[string]Opener{}}

// Register makes URLs of a scheme known. It panics if the scheme is taken.
func Register(scheme string, open Opener) {
	registry.Lock()
	defer registry.Unlock()
	if _, taken := registry.openers[scheme]; taken || scheme == fileScheme {
		panic("storage: the scheme " + scheme + " is registered twice")
	}
	registry.openers[scheme] = open
}

func supported(scheme string) bool { return openerOf(scheme) != nil }

func openerOf(scheme string) Opener {
	registry.Lock()
	defer registry.Unlock()
	return registry.openers[scheme]
}

// Schemes lists what is registered.
func Schemes() []string {
	registry.Lock()
	defer registry.Unlock()
	return slices.Sorted(maps.Keys(registry.openers))
}
