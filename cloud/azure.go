package cloud

import (
	"context"
	"errors"
	"net/url"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	azblob "github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"gocloud.dev/blob"
	_ "gocloud.dev/blob/azureblob" // registers azblob:// at blob.OpenBucket, with credentials of the environment

	"pipe/internal/storage"
)

func init() {
	storage.Register("azblob", openAzure)
	answers = append(answers, func(err error) (int, string, bool) {
		var e *azcore.ResponseError
		if !errors.As(err, &e) {
			return 0, "", false
		}
		return e.StatusCode, e.ErrorCode, true
	})
}

// openAzure opens a container with the parameters of azureblob and the account and credentials of the environment.
func openAzure(ctx context.Context, u *url.URL) (storage.Bucket, error) {
	b, err := blob.OpenBucket(ctx, u.String())
	if err != nil {
		return nil, explainOpen(ctx, err)
	}
	alone := func(ctx context.Context) context.Context {
		return policy.WithRetryOptions(ctx, policy.RetryOptions{MaxRetries: -1})
	}
	return &bucket{plain: b, once: b, alone: alone, tags: azureTags}, nil
}

var azureTags = tags{
	reader: func(r *blob.Reader) string {
		var o azblob.DownloadStreamResponse
		if !r.As(&o) || o.ETag == nil {
			return ""
		}
		return bareTag(string(*o.ETag))
	},
	listed: func(l *blob.ListObject) string {
		var o container.BlobItem
		if !l.As(&o) || o.Properties == nil || o.Properties.ETag == nil {
			return ""
		}
		return bareTag(string(*o.Properties.ETag))
	},
	looked: func(a *blob.Attributes) string { return bareTag(a.ETag) },
}
