// Package access decides who may call a server and how much. It has API keys with rate limits and quotas of tokens and
// money, a bounded queue of requests, and TLS certificates that can be replaced while connections are open.
//
// An [Access] checks the key of every request and a [Gate] bounds the requests that run at once. Both are middleware for
// net/http (Wrap) and interceptors for gRPC (Unary, Stream) with the same rules. A handler behind them gets the caller
// from [CallerOf] and reports what the request used by [Caller.Charge]. Only digests of keys are compared; [Secrets] also
// has the keys themselves, to remove them from logs.
package access
