package patience

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"time"

	"pipe/internal/atomicfile"
	"pipe/internal/strictjson"
)

// saved is the content of the file.
type saved struct {
	Format  int                    `json:"format"`
	Experts map[string]savedExpert `json:"experts"`
}

type savedExpert struct {
	Identity string      `json:"identity"`
	Cells    []savedCell `json:"cells"`
}

type savedCell struct {
	Stream  bool       `json:"stream"`
	Length  int        `json:"length"` // index in lengths
	Begins  savedCurve `json:"begins"`
	Silence savedCurve `json:"silence"`
}

// savedCurve has the bins that are not empty: bin, weight of the answers, weight of the open times.
type savedCurve struct {
	Answers int          `json:"answers"`
	Bins    [][3]float64 `json:"bins"`
}

// saveEvery is how often the file is written: after a kill, what was learned since then is gone.
const saveEvery = time.Minute

const format = 1

// saveOften writes the file until the learner is closed.
func (l *Learner) saveOften() {
	ticker := time.NewTicker(saveEvery)
	defer ticker.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-ticker.C:
			if err := l.save(); err != nil {
				l.log.Error("what was learned about the times of experts could not be written", "error", err.Error())
			}
		}
	}
}

// save writes the file, if anything was learned since it was read or written.
func (l *Learner) save() error {
	l.saving.Lock()
	defer l.saving.Unlock()
	s, changed := saved{Format: format, Experts: make(map[string]savedExpert)}, false
	for _, e := range l.all() {
		one, new := e.save()
		s.Experts[e.name], changed = one, changed || new
	}
	if !changed {
		return nil
	}
	text, err := json.Marshal(s)
	if err == nil {
		err = atomicfile.WriteFile(l.file, append(text, '\n'))
	}
	if err != nil {
		for _, e := range l.all() {
			e.touch() // it is tried again
		}
		return fmt.Errorf("patience: %w", err)
	}
	return nil
}

// touch says that the file lacks something.
func (e *Expert) touch() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.unsaved = true
}

func (e *Expert) save() (s savedExpert, changed bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	s.Identity, s.Cells = e.identity, []savedCell{}
	for _, stream := range []bool{true, false} {
		for k := range len(lengths) + 1 {
			if c := e.cells[cellKey{stream, k}]; c != nil {
				s.Cells = append(s.Cells, savedCell{stream, k, c.begins.save(), c.silence.save()})
			}
		}
	}
	changed, e.unsaved = e.unsaved, false
	return s, changed
}

func (c *curve) save() (s savedCurve) {
	s = savedCurve{Answers: c.n, Bins: [][3]float64{}}
	for k := range c.ended {
		if c.ended[k] > 0 || c.open[k] > 0 {
			s.Bins = append(s.Bins, [3]float64{float64(k), c.ended[k], c.open[k]})
		}
	}
	return s
}

// load reads the file, if it exists.
func (l *Learner) load() error {
	text, err := os.ReadFile(l.file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("patience: %w", err)
	}
	return l.parse(text)
}

// parse takes over the content of the file.
func (l *Learner) parse(text []byte) error {
	var s saved
	err := strictjson.Unmarshal(text, &s)
	if err == nil {
		err = s.check()
	}
	if err != nil {
		return fmt.Errorf("patience: %q is not what pipe serve learned about the times of experts (%w); remove it to learn anew", l.file, strictjson.Plain(err))
	}
	l.read = s.Experts
	return nil
}

// check reports content that no learner has written.
func (s *saved) check() error {
	if s.Format != format {
		return fmt.Errorf("format is %d, not %d", s.Format, format)
	}
	for name, e := range s.Experts {
		for _, c := range e.Cells {
			if c.Length < 0 || c.Length > len(lengths) || !c.Begins.valid() || !c.Silence.valid() {
				return fmt.Errorf("experts.%.60q has values that are out of range", name)
			}
		}
	}
	return nil
}

func (c *savedCurve) valid() bool {
	for _, b := range c.Bins {
		if !(b[0] >= 0 && b[0] < binCount) || b[0] != math.Trunc(b[0]) || !isWeight(b[1]) || !isWeight(b[2]) {
			return false
		}
	}
	return c.Answers >= 0
}

// isWeight reports whether a value can be the weight of a bin. Larger ones would make the sums imprecise.
func isWeight(w float64) bool { return w >= 0 && w <= 1e12 }

// restore takes over what the file says.
func (e *Expert) restore(s savedExpert) {
	for _, c := range s.Cells {
		to := e.cell(cellKey{c.Stream, c.Length})
		to.begins, to.silence = c.Begins.curve(), c.Silence.curve()
	}
}

func (c *savedCurve) curve() (out curve) {
	out.n = c.Answers
	for _, b := range c.Bins {
		out.ended[int(b[0])], out.open[int(b[0])] = b[1], b[2]
	}
	return out
}
