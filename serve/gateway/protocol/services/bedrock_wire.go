package services

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"

	"pipe/serve/gateway/jsonedit"
	"pipe/serve/gateway/sse"
)

// awsConfig is what this machine knows of AWS: credentials and a region, from the environment, files and services, as for all
// programs that use AWS's library. Credentials are kept until they expire.
var awsConfig = sync.OnceValues(func() (aws.Config, error) { return config.LoadDefaultConfig(context.Background()) })

// regionOf matches the region in the name of a host.
var regionOf = regexp.MustCompile(`^bedrock-runtime(?:-fips)?\.([a-z0-9-]+)\.`)

// SignAWS signs a request by Signature Version 4. A request with a key of Bedrock's own needs no signature.
func SignAWS(r *http.Request, body []byte, key string) error {
	if key != "" {
		return nil
	}
	c, err := awsConfig()
	if err != nil {
		return fmt.Errorf("read the configuration of AWS: %w", err)
	}
	region := c.Region
	if m := regionOf.FindStringSubmatch(r.URL.Hostname()); m != nil {
		region = m[1]
	}
	if region == "" {
		return errors.New("no region of AWS: neither the base_url nor AWS_REGION names one")
	}
	credentials, err := c.Credentials.Retrieve(r.Context())
	if err != nil {
		return fmt.Errorf("find credentials of AWS: %w", err)
	}
	digest := sha256.Sum256(body)
	return v4.NewSigner().SignHTTP(r.Context(), credentials, r, hex.EncodeToString(digest[:]), "bedrock", region, time.Now())
}

// BedrockFrames splits a stream of binary messages.
func BedrockFrames(in io.Reader, most int) *Messages {
	return &Messages{in: bufio.NewReader(in), decoder: eventstream.NewDecoder(), most: most}
}

// Messages reads AWS's binary messages: headers with the kind of a message, and a JSON object.
type Messages struct {
	in      *bufio.Reader
	decoder *eventstream.Decoder
	most    int
}

// Next returns the next message as an event, as [sse.Reader.Next] does. An exception is an event error, whose data are
// {"error": {"message", "code"}}.
func (m *Messages) Next() (*sse.Event, error) {
	e := &sse.Event{}
	prelude, err := m.in.Peek(4)
	if err != nil {
		if errors.Is(err, io.EOF) && len(prelude) > 0 {
			return e, io.ErrUnexpectedEOF
		}
		return e, err
	}
	if length := int64(prelude[0])<<24 | int64(prelude[1])<<16 | int64(prelude[2])<<8 | int64(prelude[3]); length > int64(m.most) {
		return e, sse.ErrTooLong
	}
	message, err := m.decoder.Decode(m.in, nil)
	switch {
	case errors.Is(err, io.EOF):
		return e, io.ErrUnexpectedEOF
	case err != nil:
		return e, err
	}
	header := func(name string) string {
		v, _ := message.Headers.Get(name).(eventstream.StringValue)
		return string(v)
	}
	e.Name, e.Data, e.HasData = header(":event-type"), message.Payload, true
	if kind := header(":message-type"); kind != "event" {
		code := cmp.Or(header(":exception-type"), header(":error-code"))
		e.Name, e.Data = "error", exception(code, cmp.Or(header(":error-message"), string(message.Payload)))
	}
	e.Raw = e.Data
	return e, nil
}

// exception writes an error as other protocols have it.
func exception(code, text string) []byte {
	var body struct{ Message string }
	if json.Unmarshal([]byte(text), &body) == nil && body.Message != "" {
		text = body.Message
	}
	return jsonedit.Encode(object{"error": object{"message": cmp.Or(text, code), "code": code}})
}
