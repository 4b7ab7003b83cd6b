package look_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/costs/outcome/look"
	"pipe/internal/hint"
	"pipe/internal/judge"
)

// each writes a table of 60 requests. line gives the rows of one, of whose two outcomes and length each combination occurs.
func each(head string, line func(n, small, large, length int) string) string {
	var b strings.Builder
	b.WriteString(head + "\n")
	for n := range 60 {
		b.WriteString(line(n, n*7%3%2, n*5%7%2, 100+n*11%13) + "\n")
	}
	return b.String()
}

// TestLeaks: what gives the outcomes away is no feature, and what was not sure is said.
func TestLeaks(t *testing.T) {
	wide := func(more string, of func(n, small, large int) string) string {
		return each("id,length,small_correct,large_correct,"+more, func(n, small, large, length int) string {
			return fmt.Sprintf("q%d,%d,%d,%d,%s", n, length, small, large, of(n, small, large))
		})
	}
	long := func(more string, of func(n, small, large int) string) string {
		return each("id,model,correct,length,"+more, func(n, small, large, length int) string {
			rest := of(n, small, large)
			return fmt.Sprintf("q%d,small,%d,%d,%s\nq%d,large,%d,%d,%s", n, small, length, rest, n, large, length, rest)
		})
	}
	for name, c := range map[string]struct {
		text, check string
		columns     []string
	}{
		"a third expert with NA": {wide("medium_correct", func(n, _, _ int) string { return []string{"0", "1", "NA"}[n%3] }), `medium_correct is named like the outcomes, but has "NA"`, nil},
		"a third expert with -1": {wide("medium_correct", func(n, _, _ int) string { return fmt.Sprint(n%3 - 1) }), "medium_correct is named like the outcomes, but has integers from -1", nil},
		"an expert not named":    {wide("medium_correct", func(n, _, _ int) string { return fmt.Sprint(n % 2) }), "medium_correct is named like the outcomes, and not among them", []string{"small_correct", "large_correct"}},
		"an oracle":              {wide("oracle", func(n, _, _ int) string { return fmt.Sprint(n % 2) }), "give the answer away", nil},
		"the number of right":    {wide("tally", func(_, s, l int) string { return fmt.Sprint(s + l) }), "give the answer away (if one is known before it, add it to the columns): tally", nil},
		"a function of both":     {wide("tier", func(_, s, l int) string { return fmt.Sprint("t", 2*s+l) }), "tier", nil},
		"the winner":             {wide("picked", func(n, _, _ int) string { return []string{"small", "large"}[n*3%5%2] }), "picked", nil},
		"any_correct":            {wide("any_correct", func(_, s, l int) string { return fmt.Sprint(max(s, l)) }), "any_correct", nil},
		"a threshold":            {wide("judge", func(n, _, l int) string { return fmt.Sprint(50 + 100*l + n*7%40) }), "judge", nil},
		"values of one":          {wide("stars", func(n, _, l int) string { return fmt.Sprint(3*l + n%3) }), "stars", nil},
		"words of one":           {wide("mood", func(n, s, _ int) string { return []string{"bad", "sad", "good", "glad"}[2*s+n%2] }), "mood", nil},
		"long: values of one":    {long("sum", func(n, s, _ int) string { return fmt.Sprint(10*s + n%5) }), "sum", nil},
		"numbers and NA":         {wide("words", func(n, _, _ int) string { return []string{"7", "NA", "9"}[n/3%3] }), "not all of their values are numbers: words", nil},
		"infinity":               {wide("ratio", func(n, _, _ int) string { return []string{"inf", "0.5", "0.25"}[n/3%3] }), "ratio", nil},
		"dates without a zone":   {wide("made", func(n, _, _ int) string { return fmt.Sprintf("2026-01-%02d 00:00", 1+n%28) }), "", nil},
		"an index":               {wide("__index_level_0__", func(n, _, _ int) string { return fmt.Sprint(n % 9) }), "", nil},
		"outcomes that count":    {wide("rating_1,rating_2", func(n, _, _ int) string { return fmt.Sprint(n%5, ",", n%4) }), "rating_1, rating_2", nil},
		"dates of America":       {wide("made", func(n, _, _ int) string { return fmt.Sprintf("1/%d/2026", 1+n%28) }), "", nil},
		"long: the number":       {long("tally", func(_, s, l int) string { return fmt.Sprint(s + l) }), "tally", nil},
		"long: the best":         {long("best_score", func(n, _, _ int) string { return fmt.Sprint(n % 2) }), "best_score", nil},
		"long: what comes later": {long("feedback", func(n, _, _ int) string { return fmt.Sprint(n % 2) }), "", nil},
		"long: an amount":        {long("tokens_out_total", func(n, _, _ int) string { return fmt.Sprint(n % 7) }), "", nil},
		"long: the gold":         {long("answer", func(n, _, _ int) string { return "ABCD"[n%4 : n%4+1] }), "", nil},
		"long: a price":          {long("price", func(n, _, _ int) string { return fmt.Sprint(n % 9) }), "", nil},
	} {
		p, report, text, err := propose(t, save(t, "log.csv", c.text), "", c.columns...)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := p.Request.Features(); !slices.Equal(got, []string{"length"}) || report.Kept != 60 {
			t.Errorf("%s: features %q, %d requests\n%s", name, got, report.Kept, text)
		}
		if !strings.Contains(strings.Join(p.Checks, "\n"), c.check) {
			t.Errorf("%s: no %q in %q", name, c.check, p.Checks)
		}
		if experts, _ := p.Experts(); len(experts) != 2 || p.Long != nil && p.Long.Fee != "" {
			t.Errorf("%s: experts %q\n%s", name, experts, text)
		}
	}
}

// TestDoubtfulFeature: what says nearly all about an expert is a feature with a check. What says little is one without.
func TestDoubtfulFeature(t *testing.T) {
	var b strings.Builder
	b.WriteString("id,length,noise,near,small_correct,large_correct\n")
	for n := range 400 {
		large := n * 13 % 7 % 2
		near := large
		if n%50 == 0 {
			near = 1 - large
		}
		fmt.Fprintf(&b, "q%d,%d,%d,%d,%d,%d\n", n, 100+n*11%17, n*29%31, near*100+n%8, n*7%3%2, large)
	}
	p, _, _, err := propose(t, save(t, "log.csv", b.String()), "")
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Request.Features(); !slices.Equal(got, []string{"length", "noise", "near"}) {
		t.Errorf("features %q, %q", got, p.Request.Left)
	}
	doubts := strings.Join(p.Checks, "\n")
	if !strings.Contains(doubts, "near says almost alone whether an expert is right (98%)") || strings.Contains(doubts, "noise") || strings.Contains(doubts, "length") {
		t.Errorf("%q", p.Checks)
	}
}

// TestLeaksOfFeatures: what gives the outcomes away is no feature in a table of features either.
func TestLeaksOfFeatures(t *testing.T) {
	log := each("id,small_correct,large_correct", func(n, small, large, _ int) string { return fmt.Sprintf("q%d,%d,%d", n, small, large) })
	features := "id,length,hard,tally,csat\n"
	for n := 59; n >= 0; n-- { // in another order
		small, large := n*7%3%2, n*5%7%2
		features += fmt.Sprintf("q%d,%d,%d,%d,%d\n", n, 100+n*11%13, 1-large, small+large, 3*large+n%3)
	}
	dir := t.TempDir()
	outcomes, known := filepath.Join(dir, "log.csv"), filepath.Join(dir, "known.csv")
	if err := errors.Join(os.WriteFile(outcomes, []byte(log), 0o644), os.WriteFile(known, []byte(features), 0o644)); err != nil {
		t.Fatal(err)
	}
	p, _, _, err := propose(t, outcomes, known)
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Known.Features(); !slices.Equal(got, []string{"length"}) || !strings.Contains(strings.Join(p.Checks, "\n"), "hard, tally, csat") {
		t.Errorf("features %q, %q", got, p.Checks)
	}
}

// TestWhichOutcomes: of several columns that may be outcomes those of models are taken, and a doubt is a check or an error.
func TestWhichOutcomes(t *testing.T) {
	row := func(head, format string) string { // arguments: request, two outcomes, length
		return each(head, func(n, small, large, length int) string {
			return fmt.Sprintf(format, n, small, large, length)
		})
	}
	word := func(v int) string { return []string{"no", "yes"}[v] }
	for name, c := range map[string]struct {
		text     string
		features []string
		config   []string // in it
		fails    string
	}{
		"spam scores":        {row("id,length,spam_score,toxicity_score,gpt4,claude", "q%[1]d,%[4]d,0.%[1]d,0.%[4]d,%[2]d,%[3]d"), []string{"length"}, []string{"column: gpt4", "CHECK: not used as features"}, ""},
		"losses of training": {row("id,length,train_loss,val_loss,gpt4_ok,claude_ok", "q%[1]d,%[4]d,%[1]d,%[4]d,%[2]d,%[3]d"), []string{"length"}, []string{"column: gpt4_ok"}, ""},
		"no models":          {row("id,length,a_score,b_score", "q%[1]d,%[4]d,0.%[1]d,0.%[4]d"), []string{"length"}, []string{"CHECK: taken as outcomes"}, ""},
		"predictions":        {row("id,amount,label,small,large", "q%[1]d,%[4]d,%[2]d,%[2]d,%[3]d"), []string{"amount"}, []string{"CHECK: the label label is 0 or 1"}, ""},
		"states":             {row("id,length,is_pro,has_human_agent,alice,bob", "q%[1]d,%[4]d,%[2]d,%[3]d,%[2]d,%[3]d"), nil, nil, "no column is named like an expert"},
		"scores to 100":      {row("id,length,gpt_score,llama_score,gpt_error,llama_error", "q%[1]d,%[4]d,%[1]d,2%[2]d,%[2]d,%[3]d"), []string{"length"}, []string{"value: score", "score_range: [0, "}, ""},
		"percents":           {row("id,length,small_accuracy,large_accuracy", "q%[1]d,%[4]d,%[1]d,%[4]d"), nil, nil, `"small_accuracy" is named like an outcome, but has integers`},
		"True and False": {each("id,length,small_correct,large_correct", func(n, small, large, length int) string {
			return fmt.Sprintf("q%d,%d,%s,%s", n, length, []string{"False", "True"}[small], []string{"False", "True"}[large])
		}), []string{"length"}, []string{"value: correct"}, ""},
		"a feature called model": {each("id,model,length,small_correct,large_correct", func(n, small, large, length int) string {
			return fmt.Sprintf("q%d,%s,%d,%d,%d", n, []string{"iphone", "pixel"}[n*3%5%2], length, small, large)
		}), []string{"length", "model"}, []string{"column: small_correct", "CHECK: who asks a policy for a decision sends numbers, also for these"}, ""},
		"a correct that is yes or no": {each("id,model,correct,cost,length", func(n, small, large, length int) string {
			return fmt.Sprintf("q%d,small,%s,0.%d,%d\nq%d,large,%s,0.2%d,%d", n, word(small), n, length, n, word(large), n, length)
		}), nil, nil, `"correct" is named like an outcome, but has "no", "yes"`},
		"a verdict beside failed calls": {each("id,model,verdict,error,length", func(n, small, large, length int) string {
			return fmt.Sprintf("q%d,small,good,%d,%d\nq%d,large,bad,%d,%d", n, small, length, n, large, length)
		}), nil, nil, `"verdict" is named like an outcome`},
		"failures":          {row("id,length,small_failed,large_failed", "q%[1]d,%[4]d,%[2]d,%[3]d"), []string{"length"}, []string{"value: loss", "CHECK: the outcome is small_failed, of which more is worse"}, ""},
		"failures in words": {row("id,length,small_failed,large_failed", "q%[1]d,%[4]d,true,false"), nil, nil, "true and false"},
		"an unknown word":   {row("id,length,small_blocked,large_blocked", "q%[1]d,%[4]d,%[2]d,%[3]d"), nil, nil, `with "blocked", and nothing says whether 1 is good`},
		"words before":      {row("id,length,cost_small,cost_large", "q%[1]d,%[4]d,%[2]d,%[3]d"), nil, nil, `with "cost", and nothing says`},
		"fields":            {row("id,length,scores.small,scores.large", "q%[1]d,%[4]d,%[2]d,%[3]d"), []string{"length"}, []string{"scores.small"}, ""},
		"scores of true":    {row("id,length,score_small,score_large", "q%[1]d,%[4]d,true,false"), []string{"length"}, []string{"value: correct"}, ""},
		"f1 among others":   {row("id,f0,f1,f2,small,large", "q%[1]d,1%[4]d,%[4]d,2%[4]d,%[2]d,%[3]d"), []string{"f0", "f1", "f2"}, []string{"column: small"}, ""},
		"two scales":        {row("id,length,small_score,large_score", "q%[1]d,%[4]d,0.%[1]d,%[1]d"), []string{"length"}, []string{"CHECK: the scores seem to have different scales: small_score is at most 0.9, large_score 59"}, ""},
		"an unnamed id":     {row(",length,small,large", "%[1]d,%[4]d,%[2]d,%[3]d"), nil, nil, "has no name"},
		"the same, long":    {row(",model,correct,length", "%[1]d,a,%[2]d,%[4]d\n%[1]d,b,%[3]d,%[4]d"), nil, nil, "has no name"},
		"repeated ids":      {row("id,length,small,large", "q%[4]d,%[4]d,%[2]d,%[3]d"), nil, nil, "several rows have the same id"},
		"models with NA":    {row("id,length,small,large", "q%[1]d,%[4]d,NA,%[3]d"), nil, nil, `"small" is named like an outcome, but has "NA"`},
		"models with yes":   {row("id,length,small,large", "q%[1]d,%[4]d,yes,no"), nil, nil, `has "yes"`},
		"percents as odds":  {row("id,model,propensity,correct,length", "q%[1]d,m%[3]d,50,%[2]d,%[4]d"), nil, nil, "propensity has integers from 50 to 50"},
		"only NA features":  {row("id,length,small,large", "q%[1]d,NA,%[2]d,%[3]d\nr%[1]d,%[4]d,%[2]d,%[3]d\ns%[1]d,%[4]d,%[2]d,%[3]d"), nil, nil, `length has numbers and "NA"`},
		"money": {each("id,model,cost,length", func(n, _, _, length int) string {
			return fmt.Sprintf("q%d,small,0.%d,%d\nq%d,large,0.2%d,%d", n, n, length, n, n, length)
		}), []string{"length"}, []string{"loss: cost", "CHECK: the outcome is cost"}, ""},
		"a score of the request": {each("id,model,readability_score,judged,length", func(n, small, large, length int) string {
			return fmt.Sprintf("q%d,small,0.%d,%d,%d\nq%d,large,0.%d,%d,%d", n, n, small, length, n, n, large, length)
		}), nil, nil, "readability_score is the same for all answers"},
		"a probability of fraud":     {row("id,model,fraud_probability,correct,length", "q%[1]d,m%[3]d,0.5,%[2]d,%[4]d"), nil, nil, "no column says how probable"},
		"a probability that is none": {row("id,model,prob,correct,length", "q%[1]d,m%[3]d,0.9%[1]d,%[2]d,%[4]d"), nil, nil, "no column says how probable"},
		"a probability":              {row("id,model,prob,correct,length", "q%[1]d,m%[3]d,0.5,%[2]d,%[4]d"), []string{"length"}, []string{"propensity: prob", "CHECK: prob is taken"}, ""},
		"odd propensities":           {row("id,model,propensity,correct,length", "q%[1]d,m%[3]d,0.9%[1]d,%[2]d,%[4]d"), []string{"length"}, []string{"CHECK: the mean of 1 / propensity"}, ""},
		"one expert":                 {row("id,model,correct,length", "q%[1]d,gpt,%[2]d,%[4]d"), nil, nil, "column model has one expert only"},
		"an empty id":                {row("id,model,correct,length", "q%[1]d,a,%[2]d,%[4]d\nq%[1]d,b,%[3]d,%[4]d") + ",a,1,100\n,b,1,100\n", nil, nil, "column id is empty in 2 of 122 rows"},
	} {
		p, _, text, err := propose(t, save(t, "log.csv", c.text), "")
		if c.fails != "" {
			if bad := (*hint.Error)(nil); !errors.As(err, &bad) || !strings.Contains(err.Error(), c.fails) || bad.Hint() == "" {
				t.Errorf("%s: %v\n%s", name, err, text)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got := p.Request.Features(); !slices.Equal(got, c.features) {
			t.Errorf("%s: features %q\n%s", name, got, text)
		}
		for _, want := range c.config {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %s in\n%s", name, want, text)
			}
		}
	}
}

// TestNested: an object of JSON is no feature beside its fields.
func TestNested(t *testing.T) {
	text := strings.TrimPrefix(each("", func(n, small, large, length int) string {
		return fmt.Sprintf(`{"id": "q%d", "n": %d, "scores": {"gpt-4": %d, "llama": %d}}`, n, length, small, large)
	}), "\n")
	p, _, config, err := propose(t, save(t, "log.jsonl", text), "")
	if err != nil || !slices.Equal(p.Request.Features(), []string{"n"}) {
		t.Errorf("%v\n%s", err, config)
	}
}

// TestUnreadColumns: a column of Parquet that no import reads is left out, and the others are looked at.
func TestUnreadColumns(t *testing.T) {
	dir := t.TempDir()
	judge.Run(t, judge.Python(t, "pyarrow"), dir, `
import sys, decimal, datetime, pyarrow as pa, pyarrow.parquet as pq
n = 60
for name, extra in {
    "decimal": pa.array([decimal.Decimal("1.5")] * n),
    "time": pa.array([datetime.time(1, 2)] * n),
    "map": pa.array([[("a", i)] for i in range(n)], pa.map_(pa.string(), pa.int64())),
    "texts": pa.array([["a", "b"]] * n),
    "ragged": pa.array([[0.5] * (1 + i % 3) for i in range(n)]),
}.items():
    pq.write_table(pa.table({"id": [f"q{i}" for i in range(n)], "extra": extra, "length": [i * 7 % 11 for i in range(n)],
        "small": [i % 2 for i in range(n)], "large": [i * 5 % 7 % 2 for i in range(n)]}), f"{sys.argv[1]}/{name}.parquet")
`, dir)
	for _, name := range []string{"decimal", "time", "map", "texts", "ragged"} {
		p, report, text, err := propose(t, filepath.Join(dir, name+".parquet"), "")
		if err != nil || report.Kept != 60 || !slices.Equal(p.Request.Features(), []string{"length"}) {
			t.Errorf("%s: %v, %d requests\n%s", name, err, report.Kept, text)
			continue
		}
		if !strings.Contains(text, "# not used: extra, which ") {
			t.Errorf("%s: nothing about the column in\n%s", name, text)
		}
	}
}

// TestNamedOutcomes: columns that the user names are read as the names say, and there are two at least.
func TestNamedOutcomes(t *testing.T) {
	text := each("id,length,small_failed,large_failed,falcon,kimi", func(n, small, large, length int) string {
		return fmt.Sprintf("q%d,%d,%d,%d,%d,%d", n, length, small, large, n*3%5%2, n*2%7%2)
	})
	file := save(t, "log.csv", text)
	for columns, says := range map[string]string{
		"small_failed,large_failed": "of which more is worse",
		"small_failed,falcon":       "1 is taken as a right answer",
		"falcon,length":             "",
		"falcon":                    "",
	} {
		p, _, _, err := propose(t, file, "", strings.Split(columns, ",")...)
		switch {
		case says == "" && err == nil:
			t.Errorf("%s is no error", columns)
		case says != "" && (err != nil || !strings.Contains(strings.Join(p.Checks, "\n"), says) || !strings.Contains(strings.Join(p.Checks, "\n"), "kimi")):
			t.Errorf("%s: %v, %+v", columns, err, p)
		}
	}
}

// TestDates: a text that begins with a date is left out as a time. A version is none.
func TestDates(t *testing.T) {
	for text, isTime := range map[string]bool{"2026.1.%d": true, "%d/1/26 10:00 PM": true, "%d-12-2025": true, "1.%d.3": false, "2-%d-1": false} {
		log := each("id,length,made,small_correct,large_correct", func(n, small, large, length int) string {
			return fmt.Sprintf("q%d,%d,"+text+",%d,%d", n, length, 1+n%28, small, large)
		})
		p, _, _, err := propose(t, save(t, "log.csv", log), "")
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := slices.Contains(p.Request.Left, look.Left{Column: "made", Why: "is a time"}); got != isTime {
			t.Errorf("%s: left %q", text, p.Request.Left)
		}
	}
}
