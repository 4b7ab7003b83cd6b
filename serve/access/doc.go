// Package access decides who may call the server and how much: keys of callers, limits of rate, tokens and money per key,
// a bounded queue, and limits of what a request may hold. It is an HTTP middleware and a gRPC interceptor with the same
// rules. It keeps digests of keys, not the keys.
package access
