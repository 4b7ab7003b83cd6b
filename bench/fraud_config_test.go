package bench

import (
	"errors"
	"strings"
	"testing"

	"pipe/internal/config"
	"pipe/internal/storage"
	"pipe/onnx/ort/orttest"
	"pipe/pipeline/stage"
)

func TestFraudConfigProblems(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"no data":         {"fraud: {columns: COLUMNS}", "neither transactions nor generate"},
		"both":            {"fraud: {columns: COLUMNS, data: {transactions: a.csv, generate: {rows: 10}}}", "exclude each other"},
		"identities":      {"fraud: {columns: COLUMNS, data: {identities: a.csv}}", "identities are given without transactions"},
		"no columns":      {"fraud: {data: {transactions: a.csv}}", "columns: no file"},
		"unknown key":     {"fraud: {data: {transaction: a.csv}}", `unknown key "transaction"`},
		"generate key":    {"fraud: {data: {generate: {row: 3}}}", `unknown key "row"`},
		"world":           {"fraud: {columns: COLUMNS, data: {generate: {world: round}}}", `world "round"`},
		"counts":          {"fraud: {columns: COLUMNS, data: {transactions: a.csv}, split: {train_rows: 5}}", "both must be positive"},
		"share":           {"fraud: {columns: COLUMNS, data: {transactions: a.csv}, split: {validation: 1}}", "split.validation: 1"},
		"draws":           {"fraud: {columns: COLUMNS, data: {transactions: a.csv}, split: {draws: 0}}", "split.draws: 0"},
		"setting":         {"fraud: {columns: COLUMNS, data: {transactions: a.csv}, settings: [{name: a/b}]}", `settings[0].name: "a/b"`},
		"twice":           {"fraud: {columns: COLUMNS, data: {transactions: a.csv}, settings: [{name: a}, {name: a}]}", `settings[1]: duplicate name "a"`},
		"fold":            {"fraud: {columns: COLUMNS, data: {transactions: a.csv}, settings: [{name: a, cross_fit: 1}]}", "cross_fit is 1"},
		"task loss":       {"fraud: {columns: COLUMNS, data: {transactions: a.csv}, settings: [{name: a, task_loss: {kind: zero}}]}", `task_loss: unknown kind "zero"`},
		"recipe":          {"fraud: {columns: COLUMNS, data: {transactions: a.csv}, settings: [{name: a, train: {recipe: x}}]}", `settings[0].train.recipe: "x"`},
		"key of train":    {"fraud: {columns: COLUMNS, data: {transactions: a.csv}, settings: [{name: a, train: {rate: 1}}]}", `unknown key "rate"`},
		"expert kind":     {"fraud: {columns: COLUMNS, data: {transactions: a.csv}, experts: [{name: a}]}", `expert "a": unknown kind ""`},
		"advice":          {"fraud: {columns: COLUMNS, data: {transactions: a.csv}, advice: [{name: none}]}", "opens no groups"},
		"fee of no group": {"fraud: {columns: COLUMNS, data: {transactions: a.csv}, advice: [{name: none, fee: 1, through: base}]}", "fee"},
	} {
		t.Run(name, func(t *testing.T) {
			file := fraudConfigFile{Fraud: defaultFraud()}
			err := config.Load(t.Context(), storage.File(writeFraudConfig(t, c.text)), &file)
			var bad *config.Error
			if !errors.As(err, &bad) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}

// TestFraudRunProblems: problems that only show in the files are also one error.
func TestFraudRunProblems(t *testing.T) {
	cfg := orttest.OneThread(t)
	for name, c := range map[string]struct {
		old, new string
		want     string
	}{
		"group":       {"  resamples", "  advice: [{name: none, through: basis}]\n  resamples", `advice[0]: there is no column group "basis"`},
		"base":        {"  resamples", "  advice: [{name: none, through: contact}]\n  resamples", "the first level is the base view"},
		"order":       {"  resamples", "  advice: [{name: none, through: base}, {name: a, through: device}, {name: b, through: contact}]\n  resamples", "opens less than the level before it"},
		"rows":        {"train_rows: 600", "train_rows: 6000", "there are only 900"},
		"no columns":  {"COLUMNS", "absent.yaml", "absent.yaml"},
		"expert kind": {"kind: mlp", "kind: oracle", `unknown kind "oracle"`},
	} {
		t.Run(name, func(t *testing.T) {
			text := strings.Replace(smallFraud, c.old, c.new, 1)
			_, err := Run(t.Context(), "fraud", Options{Config: writeFraudConfig(t, text), Runtime: cfg}, stage.Quiet)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
		})
	}
}
