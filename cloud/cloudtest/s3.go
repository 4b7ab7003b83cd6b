// Package cloudtest has object stores for tests, in the process of the test.
package cloudtest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

// Bucket is the name of the bucket of S3.
const Bucket = "data"

// S3 is a service with the interface of Amazon's, in memory.
type S3 struct {
	Endpoint string // http://127.0.0.1:PORT

	mu       sync.Mutex
	before   func(r *http.Request) int
	requests []Request
}

// Request is a request that the service got.
type Request struct {
	Method, Path, Range string
	Bytes               int64 // of the body of the answer
}

// NewS3 starts a service with an empty bucket, and sets the environment of the process to keys for it.
func NewS3(t testing.TB) *S3 {
	t.Helper()
	backend := s3mem.New()
	if err := backend.CreateBucket(Bucket); err != nil {
		t.Fatal(err)
	}
	fake := gofakes3.New(backend).Server()
	s := &S3{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { s.serve(fake, w, r) }))
	t.Cleanup(server.Close)
	s.Endpoint = server.URL
	return s
}

// Environment is what a program needs to use the service.
func Environment() map[string]string {
	return map[string]string{
		"AWS_ACCESS_KEY_ID": "AKIATESTKEY", "AWS_SECRET_ACCESS_KEY": "a-secret-of-the-tests", "AWS_CONFIG_FILE": "/dev/null",
		"AWS_SHARED_CREDENTIALS_FILE": "/dev/null", "AWS_EC2_METADATA_DISABLED": "true",
	}
}

// URL returns the URL of names in the bucket.
func (s *S3) URL(names ...string) string {
	return fmt.Sprintf("s3://%s/%s?region=us-east-1&endpoint=%s", Bucket, strings.Join(names, "/"), s.Endpoint)
}

// Fail sets what is asked before every request: a status other than 0 is the answer to it.
func (s *S3) Fail(before func(r *http.Request) int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = before
}

// Requests returns the requests since the last call.
func (s *S3) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.requests
	s.requests = nil
	return all
}

// counted counts the bytes of an answer.
type counted struct {
	http.ResponseWriter
	bytes int64
}

func (c *counted) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p)
	c.bytes += int64(n)
	return n, err
}

func (s *S3) serve(fake http.Handler, w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	before := s.before
	s.mu.Unlock()
	out := &counted{ResponseWriter: w}
	answer := 0
	if before != nil {
		answer = before(r)
	}
	if answer != 0 {
		refuse(out, answer)
	} else {
		fake.ServeHTTP(out, r)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, Request{r.Method, r.URL.Path, r.Header.Get("Range"), out.bytes})
}

// refuse answers as S3 does.
func refuse(w http.ResponseWriter, status int) {
	code := map[int]string{403: "AccessDenied", 503: "SlowDown", 500: "InternalError"}[status]
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<?xml version=\"1.0\"?><Error><Code>%s</Code><Message>refused</Message><RequestId>1</RequestId></Error>", code)
}
