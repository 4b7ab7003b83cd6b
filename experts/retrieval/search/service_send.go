package search

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"pipe/experts/service"
)

// maxFound is the largest response of a search service in bytes.
const maxFound = 16 << 20

// ask sends a request until it is answered, fails for good, or has no attempts
// left. read reads an answer.
func (s *Service) ask(ctx context.Context, method, what string, body []byte, read func(text []byte) error) error {
	address := strings.TrimRight(s.service.URL, "/") + "/" + url.PathEscape(s.service.Index) + "/" + what
	return s.account.Do(ctx, s.service.RetrySettings, func() error {
		if err := s.account.Wait(ctx, 0); err != nil {
			return err
		}
		return s.send(ctx, method, address, body, read)
	})
}

// send sends a request once.
func (s *Service) send(ctx context.Context, method, address string, body []byte, read func(text []byte) error) error {
	fault := func(status int, format string, args ...any) *service.Error {
		return &service.Error{URL: address, Status: status, Reason: s.redact(fmt.Sprintf(format, args...))}
	}
	limited, cancel := context.WithTimeout(ctx, service.Seconds(s.service.Timeout))
	defer cancel()
	r, err := http.NewRequestWithContext(limited, method, address, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "pipe")
	s.sign(r)
	response, err := s.client.Do(r)
	var text []byte
	if err == nil {
		defer response.Body.Close()
		text, err = io.ReadAll(io.LimitReader(response.Body, maxFound+1))
	}
	hint := service.CertificateHint(err)
	switch {
	case err != nil && ctx.Err() != nil:
		return ctx.Err()
	case err != nil && limited.Err() != nil && (response == nil || response.StatusCode == http.StatusOK):
		return fault(0, "no answer within %v s", s.service.Timeout).Retry(0)
	case hint != "":
		return fault(0, "%s", s.quote([]byte(service.WithoutURL(err).Error()))).Advise(hint)
	case err != nil && response == nil:
		return fault(0, "%s", s.quote([]byte(service.WithoutURL(err).Error()))).Retry(0)
	case err != nil && response.StatusCode == http.StatusOK:
		return fault(0, "the connection was closed within the answer: %s", s.quote([]byte(err.Error()))).Retry(0)
	case response.StatusCode != http.StatusOK:
		return s.refused(fault(response.StatusCode, "%s", s.quote(text)), response.Header)
	case len(text) > maxFound:
		return fault(0, "the answer is longer than %d MiB", maxFound>>20)
	}
	return s.accept(text, read, fault)
}

// accept reads an answer.
func (s *Service) accept(text []byte, read func([]byte) error, fault func(int, string, ...any) *service.Error) error {
	switch err := read(text); {
	case service.IsTruncated(text, err):
		return fault(0, "the answer ends early: %s", s.quote(text)).Retry(0)
	case errors.Is(err, errPartial):
		return fault(0, "%v", err).Retry(0)
	case err != nil:
		return fault(0, "the response is not a search result: %v: %s", err, s.quote(text)).
			Advise("check the names of the fields, and that url is that of OpenSearch or Elasticsearch itself")
	}
	return nil
}

// refused returns the error of a response with an error status.
func (s *Service) refused(fault *service.Error, header http.Header) error {
	switch code := fault.Status; {
	case code == http.StatusUnauthorized || code == http.StatusForbidden:
		names := strings.Join(strings.Fields(s.service.Key+" "+s.service.User+" "+s.service.Password), " and ")
		if names == "" {
			return fault.Advise("the service requires authentication: put a key, or user and password, into environment variables and name those in the settings")
		}
		return fault.Advise("the service does not accept the credentials in " + names)
	case code == http.StatusNotFound:
		return fault.Advise("check url and index: the service has no index of that name")
	case code >= 300 && code < 400:
		return fault.Advise("the service redirects to another address, and redirects are not followed: set url to that address")
	case code == http.StatusRequestTimeout, code == http.StatusTooManyRequests, code >= 500:
		return fault.Later(header)
	}
	return fault.Advise("check fields and tie against the mapping of the index")
}

// quote returns the beginning of a response without secrets.
func (s *Service) quote(text []byte) string {
	const read = 4096
	return service.Secret("").Excerpt([]byte(s.redact(string(text[:min(read, len(text))]))))
}

// redactAnswer removes secrets from passages, which are shown to experts.
func (s *Service) redactAnswer(text string) string {
	for _, h := range s.hidden {
		text = h.RedactAnswer(text)
	}
	return text
}

// redact removes secrets from messages about a service.
func (s *Service) redact(text string) string {
	for _, h := range s.hidden {
		text = h.Redact(text)
	}
	return text
}
