// Package service has what clients of HTTP services share, for chat models and
// search indexes alike: accounts with limits on requests and tokens, retries
// with backoff, keys that never reach files or errors, HTTP clients with
// certificates, and the type of errors. Requests and responses are the
// caller's.
//
// It imports experts/builder/part, through which the parts of a build share accounts, and
// internal/textfile, which bounds the files of certificates.
package service
