package budget

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"

	"pipe/internal/atomicfile"
)

// paceFile has what was learned of traffic and prices. To lose it costs money, but never exceeds a budget.
const paceFile = "pace.json"

// pace is the content of the file.
type pace struct {
	Format  int                   `json:"format"`
	Saved   int64                 `json:"saved"` // second since 1970
	Members map[string]memberPace `json:"members"`
	Usage   map[string]pairUsage  `json:"usage"`
}

// memberPace is what was learned for one budget.
type memberPace struct {
	Price   float64 `json:"price"`
	Traffic traffic `json:"traffic"`
}

func (b *Budgets) path() string {
	if b.settings.Folder == "" {
		return ""
	}
	return filepath.Join(b.settings.Folder, paceFile)
}

// save writes the pace of all budgets, if they have a folder.
func (b *Budgets) save() error {
	if b.path() == "" {
		return nil
	}
	p := pace{Format: 1, Saved: b.now().Unix(), Members: map[string]memberPace{}, Usage: b.usage.all()}
	for _, m := range b.all() {
		m.mu.Lock()
		p.Members[m.label()] = memberPace{m.pacer.now(), m.traffic}
		m.mu.Unlock()
	}
	b.mu.Lock()
	for label, of := range b.saved {
		p.Members[label] = of
	}
	b.mu.Unlock()
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return atomicfile.WriteFile(b.path(), append(text, '\n'))
}

// load reads the file if there is one. A damaged file is an error: prices would silently begin at 0.
func (b *Budgets) load() error {
	if b.path() == "" {
		return nil
	}
	text, err := os.ReadFile(b.path())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("budgets: %w", err)
	}
	var p pace
	if err := json.Unmarshal(text, &p); err != nil || p.Format != 1 || !p.isValid() {
		return fmt.Errorf("budgets: %q is not a file of pipe serve; remove it to begin the prices of budgets anew, which forgets nothing of what was spent", b.path())
	}
	b.saved = p.Members
	b.usage.restore(p.Usage)
	return nil
}

// isValid reports whether the numbers are possible.
func (p *pace) isValid() bool {
	ok := func(values ...float64) bool {
		for _, v := range values {
			if !(v >= 0) || math.IsInf(v, 0) {
				return false
			}
		}
		return true
	}
	for _, m := range p.Members {
		t := &m.Traffic
		if !ok(m.Price, t.Count, t.Came, t.Due, t.NewCame, t.NewDue, t.Usual) || !ok(t.Hours[:]...) || !ok(t.Ends[:]...) {
			return false
		}
		for _, count := range t.Today {
			if !(count >= -1) || math.IsInf(count, 0) {
				return false
			}
		}
	}
	for _, u := range p.Usage {
		if !u.isValid() {
			return false
		}
	}
	return true
}

// restore takes over what an earlier process learned. Hours in which no server counted are not taken for quiet ones.
func (m *member) restore(p memberPace) {
	m.pacer.price = p.Price
	m.traffic = p.Traffic
	m.traffic.resume(m.now())
}
