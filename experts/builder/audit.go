package builder

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"

	"pipe/experts/builder/part"
	"pipe/internal/atomicfile"
)

// audit records the texts that advice showed, one line of JSON per instance and
// level that shows any. A nil audit records nothing.
type audit struct{ lines bytes.Buffer }

// auditLine is a line of an audit.
type auditLine struct {
	ID     string   `json:"id"`
	Advice string   `json:"advice"`
	Query  string   `json:"query"` // by which the passages were found
	Pages  []string `json:"pages"`
	Texts  []string `json:"texts"`
}

// newAudit returns an audit, nil if the build keeps none.
func newAudit(keep bool) *audit {
	if !keep {
		return nil
	}
	return &audit{}
}

// add records what the levels of advice show for a batch, instance by instance.
func (a *audit) add(names []string, batch []part.Instance, shown [][]part.AdvicePayload) error {
	if a == nil {
		return nil
	}
	e := json.NewEncoder(&a.lines)
	e.SetEscapeHTML(false)
	for n := range batch {
		for k, level := range shown {
			s := &level[n]
			if len(s.Passages) == 0 && s.Query == "" {
				continue
			}
			line := auditLine{ID: batch[n].ID, Advice: names[k], Query: s.Query, Pages: []string{}, Texts: []string{}}
			if line.Query == "" {
				line.Query = batch[n].Text
			}
			for _, p := range s.Passages {
				line.Pages, line.Texts = append(line.Pages, p.Page), append(line.Texts, p.Text)
			}
			if err := e.Encode(line); err != nil {
				return err
			}
		}
	}
	return nil
}

// writeZipped writes a gzip file atomically.
func writeZipped(path string, write func(io.Writer) error) error {
	f, err := atomicfile.Create(path)
	if err != nil {
		return err
	}
	defer f.Cleanup()
	z := gzip.NewWriter(f)
	if err := write(z); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	return f.CloseAtomicallyReplace()
}
