package cloud

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/logging"
	"gocloud.dev/blob"
	"gocloud.dev/blob/s3blob"

	"pipe/internal/storage"
)

func init() {
	storage.Register("s3", openS3)
	answers = append(answers, func(err error) (status int, name string, ok bool) {
		var response *awshttp.ResponseError
		var named smithy.APIError
		if errors.As(err, &response) {
			status, ok = response.HTTPStatusCode(), true
		}
		if errors.As(err, &named) {
			name, ok = named.ErrorCode(), true
		}
		return status, name, ok
	})
}

// openS3 opens a bucket with the parameters of s3blob. At an endpoint of its own, such as that of MinIO or Ceph, a bucket
// is named in the path, and the region does not matter.
func openS3(ctx context.Context, u *url.URL) (storage.Bucket, error) {
	q := u.Query()
	own := cmp.Or(q.Get("endpoint"), os.Getenv("AWS_ENDPOINT_URL_S3"), os.Getenv("AWS_ENDPOINT_URL")) != ""
	if own && !q.Has("use_path_style") && !q.Has("s3ForcePathStyle") {
		q.Set("use_path_style", "true")
	}
	with := *u
	with.RawQuery = q.Encode()
	opener := &s3blob.URLOpener{}
	first, err := opener.OpenBucketURL(ctx, &with)
	if err != nil {
		return nil, explainOpen(ctx, err)
	}
	var client *s3.Client
	first.As(&client)
	options := client.Options()
	if options.Region == "" && own {
		options.Region = "us-east-1"
	}
	if options.Region == "" {
		return nil, &storage.Fault{Msg: "the region of the bucket is not known", Advice: "set AWS_REGION, or add ?region=NAME to the URL"}
	}
	options.Logger = logging.Nop{} // it would write to standard error
	if c, ok := options.HTTPClient.(*awshttp.BuildableClient); ok {
		options.HTTPClient = c.WithTransportOptions(lively)
	}
	open := func(tries int) (*blob.Bucket, error) {
		options := options.Copy()
		options.Retryer = spread{retry.AddWithMaxAttempts(options.Retryer, tries)}
		return s3blob.OpenBucket(ctx, s3.New(options), u.Host, &opener.Options)
	}
	plain, err := open(attempts)
	if err != nil {
		return nil, explainOpen(ctx, err)
	}
	once, err := open(1)
	if err != nil {
		return nil, explainOpen(ctx, err)
	}
	return &bucket{plain: plain, once: once, tags: s3Tags}, nil
}

// spread has short pauses that differ, so that many workers do not come back together. Those of the SDK take up to 20 seconds, or
// are all equal if they are limited to one.
type spread struct{ aws.Retryer }

func (s spread) RetryDelay(attempt int, _ error) (time.Duration, error) {
	pause := firstPause << (attempt - 1)
	return pause/2 + rand.N(pause), nil
}

var s3Tags = tags{
	reader: func(r *blob.Reader) string {
		var o s3.GetObjectOutput
		r.As(&o)
		return bareTag(aws.ToString(o.ETag))
	},
	listed: func(l *blob.ListObject) string {
		var o types.Object
		l.As(&o)
		return bareTag(aws.ToString(o.ETag))
	},
	looked: func(a *blob.Attributes) string { return bareTag(a.ETag) },
}

// bareTag drops the quotes that some answers have and others do not.
func bareTag(tag string) string { return strings.Trim(tag, `"`) }
