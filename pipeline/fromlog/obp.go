package fromlog

import (
	"archive/zip"
	"bufio"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"pipe/costs"
	"pipe/internal/atomicfile"
	"pipe/internal/storage"
)

// obp collects the logged bandit feedback of Open Bandit Pipeline, which is a dictionary of arrays. It holds it in memory.
type obp struct {
	path    storage.Location
	actions *costs.Actions
	context []float32 // n x dim
	dim     int       // -1: features are not in the log
	action  []int64
	reward  []float64 // the negative cost
	pscore  []float64
	pi      []float64 // n x A
	keep    []float64
	ids     []string
	policy  []string
	answer  []int64 // the pair that answered; -1: not known
	canary  []bool
	share   []*float64 // of the canary; nil where it is not known
}

func (c *obp) abort() {}

func (c *obp) take(d Priced) error {
	if c.actions == nil {
		c.actions, c.dim = d.About.Actions, len(d.Features)
	}
	if len(d.Features) != c.dim {
		return &costs.DataError{Column: "features", Msg: fmt.Sprintf("are %d, and %d in earlier decisions; choose one version by --policy NAME@DIGEST", len(d.Features), c.dim)}
	}
	c.context = append(c.context, d.Features...)
	c.action = append(c.action, int64(d.Action))
	c.reward = append(c.reward, -d.Cost)
	c.pscore = append(c.pscore, d.Propensity[d.Action])
	c.pi = append(c.pi, d.Propensity...)
	c.keep = append(c.keep, d.Keep)
	c.ids, c.answer = append(c.ids, d.ID), append(c.answer, int64(d.Executed))
	c.policy, c.canary, c.share = append(c.policy, d.Policy), append(c.canary, d.Canary), append(c.share, shareOf(d.Record))
	return nil
}

func (c *obp) close(ctx context.Context, r *Result) error {
	r.Exported = len(c.action)
	if len(c.action) == 0 {
		return noOutcomes(r)
	}
	file, err := atomicfile.CreateAt(ctx, c.path)
	if err != nil {
		return err
	}
	defer file.Cleanup()
	out := bufio.NewWriterSize(file, 1<<18)
	if c.path.Ext() == ".json" {
		err = c.json(out)
	} else {
		err = c.npz(out)
	}
	if err == nil {
		err = out.Flush()
	}
	if err == nil {
		err = file.CloseAtomicallyReplace()
	}
	if err != nil {
		return fmt.Errorf("write %q: %w", c.path, err)
	}
	return nil
}

// json writes the dictionary with lists.
func (c *obp) json(out io.Writer) error {
	n, a := len(c.action), c.actions.Len()
	var context [][]float32
	pi := make([][][]float64, n)
	for i := range n {
		if c.dim > 0 {
			context = append(context, c.context[i*c.dim:(i+1)*c.dim])
		}
		pi[i] = make([][]float64, a)
		for k := range a {
			pi[i][k] = []float64{c.pi[i*a+k]}
		}
	}
	return json.NewEncoder(out).Encode(map[string]any{
		"n_rounds": n, "n_actions": a, "context": context, "action": c.action, "position": nil, "reward": c.reward, "pscore": c.pscore,
		"pi_b": pi, "keep": c.keep, "id": c.ids, "action_names": c.actions.Names(),
		"policy": c.policy, "canary": c.canary, "share": c.share, "executed": c.answer,
	})
}

// npz writes an archive of arrays of NumPy.
func (c *obp) npz(out io.Writer) error {
	n, a := len(c.action), c.actions.Len()
	z := zip.NewWriter(out)
	arrays := []array{
		{"n_rounds", "<i8", nil, []int64{int64(n)}},
		{"n_actions", "<i8", nil, []int64{int64(a)}},
		{"action", "<i8", []int{n}, c.action},
		{"position", "<i8", []int{n}, make([]int64, n)},
		{"reward", "<f8", []int{n}, c.reward},
		{"pscore", "<f8", []int{n}, c.pscore},
		{"pi_b", "<f8", []int{n, a, 1}, c.pi},
		{"keep", "<f8", []int{n}, c.keep},
		textArray("id", c.ids),
		textArray("action_names", c.actions.Names()),
		textArray("policy", c.policy),
		{"executed", "<i8", []int{n}, c.answer},
		{"canary", "|b1", []int{n}, c.canary},
		{"share", "<f8", []int{n}, orNaN(c.share)},
	}
	if c.dim > 0 {
		arrays = append(arrays, array{"context", "<f4", []int{n, c.dim}, c.context})
	}
	for _, x := range arrays {
		w, err := z.CreateHeader(&zip.FileHeader{Name: x.name + ".npy", Method: zip.Store})
		if err != nil {
			return err
		}
		if err := x.write(w); err != nil {
			return err
		}
	}
	return z.Close()
}

// orNaN has NaN for numbers that are not known.
func orNaN(list []*float64) []float64 {
	out := make([]float64, len(list))
	for i, v := range list {
		out[i] = math.NaN()
		if v != nil {
			out[i] = *v
		}
	}
	return out
}

// array is an array of NumPy: values in the order of C.
type array struct {
	name, kind string
	shape      []int
	values     any
}

// textArray pads texts to the longest one, as NumPy stores them: four bytes per character.
func textArray(name string, list []string) array {
	longest := 1
	for _, s := range list {
		longest = max(longest, utf8.RuneCountInString(s))
	}
	values := make([]int32, 0, longest*len(list))
	for _, s := range list {
		n := 0
		for _, c := range s {
			values = append(values, c)
			n++
		}
		values = append(values, make([]int32, longest-n)...)
	}
	return array{name, fmt.Sprintf("<U%d", longest), []int{len(list)}, values}
}

// write writes the array in version 1.0 of the format: a head padded to a multiple of 64 bytes, then the values.
func (x array) write(w io.Writer) error {
	shape := ""
	for _, n := range x.shape {
		shape += fmt.Sprintf("%d,", n)
	}
	head := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", x.kind, shape)
	const before = 10 // magic, version, length
	head += strings.Repeat(" ", 63-(before+len(head))%64) + "\n"
	b := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)), byte(len(head)>>8))
	if _, err := w.Write(append(b, head...)); err != nil {
		return err
	}
	return binary.Write(w, binary.LittleEndian, x.values)
}
