package cloud

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"os"
	"strconv"

	gcs "cloud.google.com/go/storage"
	"gocloud.dev/blob"
	"gocloud.dev/blob/gcsblob"
	"gocloud.dev/gcp"
	"google.golang.org/api/googleapi"

	"pipe/internal/storage"
)

func init() {
	storage.Register("gs", openGoogle)
	answers = append(answers, func(err error) (int, string, bool) {
		var e *googleapi.Error
		switch {
		case !errors.As(err, &e):
			return 0, "", false
		case len(e.Errors) == 0:
			return e.Code, "", true
		}
		return e.Code, e.Errors[0].Reason, true
	})
}

// openGoogle opens a bucket with the parameters of gcsblob and the default credentials. STORAGE_EMULATOR_HOST is a local
// service, which needs none.
func openGoogle(ctx context.Context, u *url.URL) (storage.Bucket, error) {
	open := func(policy ...gcs.RetryOption) (*blob.Bucket, error) {
		client, err := googleClient(ctx, u)
		if err != nil {
			return nil, err
		}
		b, err := (&gcsblob.URLOpener{Client: client}).OpenBucketURL(ctx, u)
		if err != nil {
			return nil, explainOpen(ctx, err)
		}
		var c *gcs.Client
		if b.As(&c) {
			c.SetRetry(policy...)
		}
		return b, nil
	}
	plain, err := open(gcs.WithMaxAttempts(attempts))
	if err != nil {
		return nil, err
	}
	once, err := open(gcs.WithPolicy(gcs.RetryNever))
	if err != nil {
		return nil, err
	}
	return &bucket{plain: plain, once: once, tags: googleTags, halves: true}, nil
}

func googleClient(ctx context.Context, u *url.URL) (*gcp.HTTPClient, error) {
	transport := gcp.DefaultTransport()
	if t, ok := transport.(*http.Transport); ok {
		t = t.Clone()
		lively(t)
		transport = t
	}
	anonymous, _ := strconv.ParseBool(u.Query().Get("anonymous"))
	if anonymous || os.Getenv("STORAGE_EMULATOR_HOST") != "" {
		return gcp.NewAnonymousHTTPClient(transport), nil
	}
	creds, err := gcp.DefaultCredentials(ctx)
	if err != nil {
		return nil, &storage.Fault{
			Msg:    "no credentials of Google Cloud were found",
			Advice: "set GOOGLE_APPLICATION_CREDENTIALS to a key file, or run: gcloud auth application-default login; a public bucket needs ?anonymous=true",
		}
	}
	client, err := gcp.NewHTTPClient(transport, gcp.CredentialsTokenSource(creds))
	if err != nil {
		return nil, explainOpen(ctx, err)
	}
	return client, nil
}

// A generation is the number of a version of an object.
func generation(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

var googleTags = tags{
	reader: func(r *blob.Reader) string {
		var o *gcs.Reader
		if !r.As(&o) {
			return ""
		}
		return generation(o.Attrs.Generation)
	},
	listed: func(l *blob.ListObject) string {
		var o gcs.ObjectAttrs
		l.As(&o)
		return generation(o.Generation)
	},
	looked: func(a *blob.Attributes) string {
		var o gcs.ObjectAttrs
		a.As(&o)
		return generation(o.Generation)
	},
}
