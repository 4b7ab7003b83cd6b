package auto

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"path/filepath"
	"slices"

	"pipe/models"
	"pipe/onnx"
	"pipe/onnx/ort"
)

// trace holds, for one lambda and candidate, the realised cost of every held-out row at every stop:
// trace[stop][position in held]. It is NaN until known.
type trace [][]float32

// found are the traces of a search, [lambda][candidate].
type found [][]trace

// member links a model of a search to its trace.
type member struct{ lambda, candidate, part int }

// search trains every candidate on every part for every lambda.
func (a *auto) search(ctx context.Context) (found, error) {
	f := make(found, len(a.lambdas))
	for l := range f {
		f[l] = make([]trace, len(a.s.Grid))
		for c := range f[l] {
			f[l][c] = a.newTrace()
		}
	}
	features, err := a.featureBuffer()
	if err != nil {
		return nil, err
	}
	defer features.Close()
	total := 0
	for _, p := range a.parts {
		total += len(a.lambdas) * len(a.s.Grid) * a.steps(len(p.fit), a.settings.Epochs)
	}
	a.announce("search", total)
	for i, arch := range a.architectures() {
		rec := &searchRecorder{a: a, f: f, features: features}
		var specs []models.Spec
		for l := range a.lambdas {
			for _, c := range arch {
				for p := range a.parts {
					rec.members = append(rec.members, member{l, c, p})
					specs = append(specs, a.spec(a.s.Grid[c], l, uint64(1000+p), a.parts[p].fit))
				}
			}
		}
		o := a.stage(fmt.Sprintf("search-%d", i))
		o.Every, o.Record = a.stops[0], rec
		if _, err := models.Train(ctx, a.problem, specs, a.settingsOf(a.s.Grid[arch[0]]), o); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// steps are the optimiser steps of a model over a number of rows.
func (a *auto) steps(rows, epochs int) int {
	return (rows + a.settings.Batch - 1) / a.settings.Batch * epochs
}

func (a *auto) announce(stage string, steps int) {
	if a.o.Stage != nil {
		a.o.Stage(stage, steps)
	}
}

// stage are the options of one training run within the recipe. Each has a separate checkpoint folder.
func (a *auto) stage(name string) models.Options {
	o := a.o
	o.Every, o.Record = 0, nil
	if o.Save.Dir != "" {
		o.Save.Dir = filepath.Join(o.Save.Dir, name)
	}
	return o
}

func (a *auto) newTrace() trace {
	t := make(trace, len(a.stops))
	for i := range t {
		t[i] = slices.Repeat([]float32{float32(math.NaN())}, len(a.held))
	}
	return t
}

// featureBuffer has the standardised features of the held-out rows: scoring the others would multiply time and memory
// on large tables.
func (a *auto) featureBuffer() (*ort.Buffer, error) {
	d := a.problem.Dim
	b, err := a.o.Runtime.NewBuffer(onnx.Float32, int64(len(a.held)), int64(d))
	if err != nil {
		return nil, err
	}
	dst := b.Float32s()
	for i, r := range a.held {
		copy(dst[i*d:(i+1)*d], a.problem.Features[int(r)*d:])
	}
	return b, nil
}

// architectures groups candidate indices by the settings that change the graph.
func (a *auto) architectures() [][]int {
	var out [][]int
	at := map[string]int{}
	for c, cand := range a.s.Grid {
		key := fmt.Sprint(cand.Hidden)
		i, ok := at[key]
		if !ok {
			i = len(out)
			at[key] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], c)
	}
	return out
}

// searchRecorder writes the costs of the held-out rows into the traces. Models of different groups write to different
// rows or traces.
type searchRecorder struct {
	a        *auto
	f        found
	features *ort.Buffer
	members  []member
}

func (r *searchRecorder) Record(ctx context.Context, s *models.Snapshot) (bool, error) {
	stop, ok := slices.BinarySearch(r.a.stops, s.Epoch())
	if !ok {
		return false, nil
	}
	scores, err := s.Scores(ctx, r.features)
	if err != nil {
		return false, err
	}
	n, outputs := len(r.a.held), r.a.train.Actions.Len()
	for i, m := range s.Models() {
		mem := r.members[m]
		row := r.f[mem.lambda][mem.candidate][stop]
		own := scores[i*outputs*n : (i+1)*outputs*n]
		for _, h := range r.a.parts[mem.part].held {
			at := int(r.a.at[h])
			best := r.a.argmaxColumn(own, n, at)
			row[at] = float32(r.a.train.Cost(int(h), best, r.a.lambdas[mem.lambda]))
		}
	}
	return false, nil
}

// argmaxColumn is the best available action of column at of scores [actions, n].
func (a *auto) argmaxColumn(scores []float32, n, at int) int {
	best, top := -1, float32(math.Inf(-1))
	for i := range a.mask {
		if v := scores[i*n+at]; a.mask[i] && (best < 0 || v > top) {
			best, top = i, v
		}
	}
	return best
}

// Save and Load keep the costs of a group's held-out rows in a checkpoint: for each model and stop its held-out rows in
// order, little-endian float32.
func (r *searchRecorder) Save(models []int) ([]byte, error) {
	var b []byte
	for _, m := range models {
		mem := r.members[m]
		for _, row := range r.f[mem.lambda][mem.candidate] {
			for _, h := range r.a.parts[mem.part].held {
				b = binary.LittleEndian.AppendUint32(b, math.Float32bits(row[r.a.at[h]]))
			}
		}
	}
	return b, nil
}

func (r *searchRecorder) Load(models []int, b []byte) error {
	for _, m := range models {
		mem := r.members[m]
		for _, row := range r.f[mem.lambda][mem.candidate] {
			for _, h := range r.a.parts[mem.part].held {
				if len(b) < 4 {
					return fmt.Errorf("saved search is too short")
				}
				row[r.a.at[h]] = math.Float32frombits(binary.LittleEndian.Uint32(b))
				b = b[4:]
			}
		}
	}
	return nil
}
