package features

import (
	"errors"
	"fmt"

	"pipe/costs"
	"pipe/pipeline/stage"
)

// Split says how the rows of a table are split into training and validation rows: by shares or by counts.
type Split struct {
	Kind           string  `yaml:"kind" json:"kind"`                       // see costs.SplitDraw; for counts, a kind other than hash
	Validation     float64 `yaml:"validation" json:"validation"`           // share of all rows, the others train; used where the counts are 0
	TrainRows      int     `yaml:"train_rows" json:"train_rows"`           // with ValidationRows; further rows are left out
	ValidationRows int     `yaml:"validation_rows" json:"validation_rows"` //
	Seed           uint64  `yaml:"seed" json:"seed"`                       // of the first draw
	Draws          int     `yaml:"draws" json:"draws"`                     // splits that are drawn, with seeds seed, seed+1, ...
}

// DefaultSplit uses a quarter of the rows for validation, by the hash of the id, once.
func DefaultSplit() Split {
	return Split{Kind: costs.SplitHash, Validation: 0.25, Draws: 1}
}

// Check calls bad for every setting, with the condition that must hold and the message if it does not.
func (s Split) Check(bad func(ok bool, format string, args ...any)) {
	counts := s.TrainRows != 0 || s.ValidationRows != 0
	bad(!counts || s.TrainRows > 0 && s.ValidationRows > 0,
		"split: train_rows is %d and validation_rows is %d; both must be positive", s.TrainRows, s.ValidationRows)
	bad(counts || s.Validation > 0 && s.Validation < 1, "split.validation: %g, a share in (0, 1) is needed", s.Validation)
	bad(s.Draws > 0, "split.draws: %d, at least 1 is needed", s.Draws)
	bad(!counts || s.Kind != costs.SplitHash, "split: kind %s cannot give exact counts; with train_rows and validation_rows the kind is %s or %s",
		s.Kind, costs.SplitStratified, costs.SplitRandom)
	bad(s.Kind != costs.SplitTime, "split.kind: time is for pipe import")
	if err := (costs.SplitDraw{Kind: s.Kind}).Validate(); err != nil {
		bad(false, "split.kind: %v", err)
	}
}

// draw returns the split of every row for one draw, "" for rows that are left out; ids and labels have one entry per
// row, and so has groups unless it is nil. Counts that the rows cannot satisfy are an *stage.OptionError, shares that
// leave a split without rows a *costs.DataError.
func (s Split) draw(ids, labels, groups []string, draw int) ([]string, error) {
	n := len(ids)
	d := costs.SplitDraw{Kind: s.Kind, Validation: s.Validation, Seed: s.Seed + uint64(draw)}
	if s.TrainRows > 0 {
		if groups != nil {
			return nil, &stage.OptionError{Err: errors.New("split: rows that belong together cannot be divided into exact counts; use a share, or columns without a group")}
		}
		if s.TrainRows+s.ValidationRows > n {
			return nil, &stage.OptionError{Err: fmt.Errorf("split: %d training and %d validation rows are requested, but there are only %d", s.TrainRows, s.ValidationRows, n)}
		}
		d.Validation, d.Test = float64(s.ValidationRows)/float64(n), float64(n-s.TrainRows-s.ValidationRows)/float64(n)
	}
	splits, err := d.Draw(ids, labels, groups)
	if data, ok := errors.AsType[*costs.DataError](err); ok {
		data.Msg = "split: " + data.Msg
	}
	if err != nil {
		return nil, err
	}
	names := make([]string, n)
	for i, split := range splits {
		if split != costs.Test { // the third part is left out
			names[i] = split.String()
		}
	}
	return names, nil
}

// Describe is a short description of the draw, which changes when the draw does.
func (s Split) Describe(draw int) string {
	how := fmt.Sprintf("share %g", s.Validation)
	if s.TrainRows > 0 {
		how = fmt.Sprintf("%d train, %d val", s.TrainRows, s.ValidationRows)
	}
	return fmt.Sprintf("%s, %s, seed %d", s.Kind, how, s.Seed+uint64(draw))
}
