//go:build s3only

package cloud

import (
	"context"
	"net/url"

	"pipe/internal/storage"
)

func init() {
	for _, scheme := range []string{"gs", "azblob"} {
		storage.Register(scheme, func(context.Context, *url.URL) (storage.Bucket, error) {
			return nil, &storage.Fault{
				Msg:    "this program has no driver for " + scheme + "://",
				Advice: "it was built with the tag s3only; build it without",
			}
		})
	}
}
