// Package serve answers requests with policies over HTTP and gRPC.
package serve
