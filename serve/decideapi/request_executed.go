package decideapi

import (
	"errors"
	"maps"
	"math"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"pipe/costs"
	"pipe/models/cascade"
)

// executed are the pairs that were executed on a row, with what is seen of their answers by the name of the fact: a number, a text, or
// null where it is not known.
type executed map[string]map[string]jsontext.Value

// rows is the state of one row, without its features.
func (e executed) rows(info *cascade.Info) (cascade.Rows, error) {
	names, facts := info.Actions.Names(), len(info.Facts)
	rows := cascade.Rows{N: 1, Executed: make([]bool, len(names)), Observed: make([]float32, info.Columns())}
	for i := range rows.Observed {
		rows.Observed[i] = float32(math.NaN())
	}
	if len(e) > info.Stages {
		return rows, unfit("executed", "has %d pairs; the cascade executes %d on a row", len(e), info.Stages)
	}
	for _, name := range slices.Sorted(maps.Keys(e)) {
		pair := slices.Index(names, name)
		if pair < 0 || !info.Actions.Available(pair) {
			return rows, unfit("executed", "%.200q is no pair of the cascade", name)
		}
		rows.Executed[pair] = true
		for _, fact := range slices.Sorted(maps.Keys(e[name])) {
			at := slices.IndexFunc(info.Facts, func(f costs.Fact) bool { return f.Name == fact })
			if at < 0 {
				return rows, unfit("executed", "%.200q is no fact that the cascade looks at", fact)
			}
			v, err := valueOf(info.Facts[at], e[name][fact])
			if err != nil {
				return rows, unfit("executed", "%s: %s %v", name, fact, err)
			}
			rows.Observed[pair*facts+at] = v
		}
	}
	return rows, nil
}

// valueOf is a fact as the file has it: NaN where it is not known, or has a value that the training did not see.
func valueOf(f costs.Fact, v jsontext.Value) (float32, error) {
	none := float32(math.NaN())
	switch {
	case v.Kind() == 'n':
		return none, nil
	case f.Values != nil:
		var text string
		if json.Unmarshal(v, &text) != nil {
			return none, errors.New("is neither a text nor null")
		}
		if at, ok := slices.BinarySearch(f.Values, text); ok {
			return float32(at), nil
		}
		return none, nil
	}
	var number float32
	if json.Unmarshal(v, &number) != nil || math.IsInf(float64(number), 0) {
		return none, errors.New("is neither a number nor null")
	}
	return number, nil
}
