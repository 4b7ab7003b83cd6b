// Package service is what any HTTP service needs that a build asks, be it a chat
// model or a search index: accounts with their limits on requests and tokens, retries
// and the waits before them, keys and how they are kept out of files and errors,
// clients with certificates, and the error that says what went wrong. What is asked,
// and what an answer means, is the caller's.
//
// It imports costs/builder/part, through which the parts of a build share accounts, and
// internal/textfile, which bounds the files of certificates.
package service
