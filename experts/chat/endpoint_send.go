package chat

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"

	"pipe/experts/language"
	"pipe/experts/service"
)

// maxAnswer is the largest response in bytes.
const maxAnswer = 8 << 20

// send sends a request once. billed says that a failed request may have been
// charged.
func (e *endpoint) send(ctx context.Context, key service.Secret, c language.Conversation, body []byte) (_ answer, billed bool, err error) {
	limited, cancel := context.WithTimeout(ctx, service.Seconds(e.cfg.Timeout))
	defer cancel()
	r, err := http.NewRequestWithContext(limited, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return answer{}, false, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", "pipe")
	if key != "" {
		r.Header.Set("Authorization", "Bearer "+string(key))
	}
	response, err := e.client.Do(r)
	if err != nil {
		billed, err := e.broken(ctx, limited, key, err)
		return answer{}, billed, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	switch {
	case err != nil && ctx.Err() != nil:
		return answer{}, true, ctx.Err()
	case response.StatusCode != http.StatusOK:
		return answer{}, false, e.refused(response, key, text)
	case err != nil && limited.Err() != nil:
		return answer{}, true, e.fault(0, "the answer was not complete after %v s", e.cfg.Timeout).Retry(0)
	case err != nil:
		return answer{}, true, e.fault(0, "the connection was closed within the answer: %s", key.Excerpt([]byte(err.Error()))).Retry(0)
	case len(text) > maxAnswer:
		return answer{}, true, e.fault(0, "the answer is longer than %d MiB", maxAnswer>>20)
	}
	a, err := e.read(key, c, text)
	return a, err != nil, err
}

// broken returns the error of a request without a response.
func (e *endpoint) broken(ctx, limited context.Context, key service.Secret, err error) (billed bool, _ error) {
	hint := service.CertificateHint(err)
	switch {
	case ctx.Err() != nil:
		return true, ctx.Err()
	case limited.Err() != nil:
		return true, e.fault(0, "no answer within %v s", e.cfg.Timeout).Retry(0)
	case hint != "":
		return false, e.fault(0, "%s", key.Excerpt([]byte(service.WithoutURL(err).Error()))).Advise(hint)
	}
	err = service.WithoutURL(err)
	var dial *net.OpError
	sent := !errors.As(err, &dial) || dial.Op != "dial"
	return sent, e.fault(0, "%s", key.Excerpt([]byte(err.Error()))).Retry(0)
}
