package inspect

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"

	"pipe/costs"
	"pipe/experts/retrieval/bm25"
	"pipe/internal/dataerror"
	"pipe/internal/storage"
	"pipe/internal/textfile"
)

// explainer handles one kind of file. recognises gets the first bytes, which are empty for a folder.
type explainer struct {
	kind       string
	recognises func(head []byte, folder bool) bool
	explain    func(ctx context.Context, path storage.Location, o Options) (Explanation, error)
}

// explainers are tried in order; the last one accepts anything that could be a model, because ONNX has no magic number.
var explainers = []explainer{
	{"cost tensor, table, decision log", func(head []byte, folder bool) bool { return folder || bytes.HasPrefix(head, []byte("PAR")) }, explainParquet},
	{"index of pages", func(head []byte, _ bool) bool { return string(head) == bm25.Magic }, explainIndex},
	{"checkpoint", func(head []byte, _ bool) bool { return bytes.HasPrefix(head, []byte("PIPECKPT")) }, explainCheckpoint},
	{"encoder, description of a policy", func(head []byte, _ bool) bool { return len(head) > 0 && head[0] == '{' }, explainJSON},
	{"policy, cascade, trained expert, encoder of texts or images", func(head []byte, _ bool) bool { return len(head) > 0 && head[0] == 0x08 }, explainModel},
}

// File explains a cost tensor, a decision log, a table or encoder of pipe featurize, a policy or the description beside it,
// a trained expert, an index of pages or a checkpoint. For a file of another kind the error is a *costs.DataError that lists the known kinds.
func File(ctx context.Context, path storage.Location, o Options) (Explanation, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	head, folder, err := readHead(ctx, path)
	if err != nil {
		return nil, fmt.Errorf("inspect: %w", err)
	}
	var kinds []string
	for _, e := range explainers {
		if e.recognises(head, folder) {
			return e.explain(ctx, path, o)
		}
		kinds = append(kinds, e.kind)
	}
	if len(head) == 0 {
		return nil, &costs.DataError{File: path.String(), Msg: "is empty"}
	}
	return nil, &costs.DataError{File: path.String(), Msg: "is none of the known kinds of file: " + strings.Join(kinds, ", ")}
}

func readHead(ctx context.Context, path storage.Location) (head []byte, folder bool, err error) {
	if err := textfile.CheckRegularAt(ctx, path); err != nil {
		return nil, false, dataerror.FromText(err)
	}
	info, err := path.Stat(ctx)
	if err != nil {
		return nil, false, err
	}
	if info.IsDir() {
		return nil, true, nil
	}
	f, err := path.Open(ctx)
	if err != nil {
		return nil, false, err
	}
	defer f.Close()
	head, err = io.ReadAll(io.LimitReader(f, 8))
	return head, false, err
}
