package advice

import (
	"context"

	"pipe/experts/retrieval/bm25"
	"pipe/experts/retrieval/pagename"
	"pipe/experts/retrieval/search"
	"pipe/experts/service"
	"pipe/internal/config"
)

// index searches in an index file.
type index struct{ file *bm25.Index }

func openIndex(path config.Path) (*index, error) {
	local, err := path.Location().Fetch(context.Background())
	if err != nil {
		return nil, err
	}
	x, err := bm25.Open(local)
	if err != nil {
		return nil, err
	}
	return &index{x}, nil
}

func (x *index) find(ctx context.Context, query string, top int) ([]passage, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	hits, err := x.file.Search(query, top)
	if err != nil {
		return nil, err
	}
	found := make([]passage, len(hits))
	for i, h := range hits {
		page, err := x.file.Page(h.Number)
		if err != nil {
			return nil, err
		}
		found[i] = passage{pagename.Title(page.ID), page.Text}
	}
	return found, nil
}

func (x *index) close() error { return x.file.Close() }

// searchService searches with a service.
type searchService struct{ service *search.Service }

func openService(s *Settings, note func(format string, args ...any)) (*searchService, error) {
	cfg, err := s.search()
	if err != nil {
		return nil, err
	}
	accounts := service.NewAccounts(note)
	found, err := search.Open(cfg, string(s.CAFile), accounts.Unshared(), accounts.WarnOpen)
	if err != nil {
		return nil, err
	}
	return &searchService{found}, nil
}

func (o *searchService) find(ctx context.Context, query string, top int) ([]passage, error) {
	lists, err := o.service.Find(ctx, []string{query}, top)
	if err != nil {
		return nil, err
	}
	found := make([]passage, len(lists[0]))
	for i, p := range lists[0] {
		found[i] = passage{p.Title(), p.Text}
	}
	return found, nil
}

func (o *searchService) close() error { return o.service.Close() }
