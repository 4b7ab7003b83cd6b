package pipeline

import (
	"context"
	"errors"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/models"
)

// TestTrainNeedsTrainingRows: rows of another split must not stand in for
// training rows that are not there.
func TestTrainNeedsTrainingRows(t *testing.T) {
	rt := openRuntime(t)
	tensor := syntheticTensor(50, costs.Val, 1, true)
	for _, recipe := range []string{"auto", "paper"} {
		c := DefaultTrainConfig()
		c.Recipe = recipe
		_, _, err := TrainTensor(context.Background(), rt, tensor, c, models.CheckpointPolicy{}, Quiet)
		var data *costs.DataError
		if !errors.As(err, &data) || data.Column != "split" {
			t.Errorf("recipe %s: error %v, want one about the column split", recipe, err)
		}
	}
}

func TestTrainOptionsNameEveryProblem(t *testing.T) {
	o := DefaultTrainOptions()
	o.Recipe, o.Methods, o.Split = "paper", []string{"ours", "l2d", "l2d", "best"}, "valid"
	err := o.Validate()
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{`"ours" is what the recipe`, `"l2d" is given twice`, `"best", known are l2d`, `unknown split "valid"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error lacks %q: %v", want, err)
		}
	}
}
