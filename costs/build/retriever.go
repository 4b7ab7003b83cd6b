package build

import (
	"context"
	"errors"
)

// retrievalSettings say where passages are found: one of the three is named.
// Parts that name the same share one retriever.
type retrievalSettings struct {
	Index      Path           `json:"index,omitempty"`      // an index file of pipe index
	Pages      Path           `json:"pages,omitempty"`      // pages in FEVER's format, indexed beside the output
	OpenSearch *searchService `json:"opensearch,omitempty"` // an OpenSearch or Elasticsearch service
}

// searchService is an index of OpenSearch or Elasticsearch.
type searchService struct {
	URL   string `json:"url"`
	Index string `json:"index"`
}

// newRetriever opens what the settings name and makes it an input of the build.
// The build closes it.
func newRetriever(ctx context.Context, s *Setup, cfg retrievalSettings) (retriever, error) {
	if cfg == (retrievalSettings{}) {
		return nil, errors.New("index, pages or opensearch: none is named")
	}
	return nil, errors.New("retrieval is not there yet")
}
