package tabular

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"
)

func TestSchemaExpandsRanges(t *testing.T) {
	for pattern, want := range map[string][]string{
		"V1-V3":         {"V1", "V2", "V3"},
		"id_08-id_11":   {"id_08", "id_09", "id_10", "id_11"},
		"id-08-id-09":   {"id_08", "id_09"},
		"x9-x11":        {"x9", "x10", "x11"},
		"id-01":         {"id_01"},
		"P_emaildomain": {"P_emaildomain"},
	} {
		got, err := expandRange(pattern)
		if d := cmp.Diff(want, got); err != nil || d != "" {
			t.Errorf("%s: %v %s", pattern, err, d)
		}
	}
}

func TestSchemaReportsEveryProblem(t *testing.T) {
	s := &Schema{
		ID: "key", Label: "key", Labels: []string{"0", "0.0"}, Time: "kind", MinCount: -1, Log: []string{"nowhere"},
		Groups: []Group{
			{Name: "base", Numeric: []string{"V1-V3", "V2"}, Categorical: []string{"kind", "split", "key"}},
			{Name: "base", Numeric: []string{"V3-V5", "V9-V7", "V1-W2", "a1-a99999", ""}},
			{},
		},
	}
	err := s.Validate()
	if err == nil {
		t.Fatal("a schema with every problem is accepted")
	}
	for _, want := range []string{
		"column key is both id and label", `"0.0" is empty or a duplicate`, "max_levels is 0", "min_count is -1",
		`column V2 is a duplicate in group "base"`, `column split in group "base": the name is reserved`, "column key is both the label and in group",
		`group "base" is a duplicate`, `the end of range "V9-V7" is less than its beginning`, `begins with "V" and ends with "W"`,
		"more than 10000 columns", "a column has no name", "group 3 has no name", `group "" has no columns`,
		"time: no group has a numeric column kind", "log: no group has a numeric column nowhere",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("no problem %q in\n%v", want, err)
		}
	}
}

func TestSchemaNamesBothGroups(t *testing.T) {
	s := smallSchema()
	s.Groups[1].Categorical = append(s.Groups[1].Categorical, "n-2")
	err := s.Validate()
	if want := `column n_2 is both in group "base" and in group "more"`; err == nil || err.Error() != want {
		t.Errorf("error is %v, expected %s", err, want)
	}
	s = smallSchema()
	s.Log = append(s.Log, "when")
	if err := s.Validate(); err == nil || err.Error() != "log: column when is the time" {
		t.Errorf("error is %v", err)
	}
}

// Every column of the competition's two files has exactly one group; the key
// and the label have none.
func TestFraudColumnsAreAssignedOnce(t *testing.T) {
	s := fraudSchema(t)
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	columns, _ := s.columns()
	var names, categorical []string
	perGroup := make([]int, len(s.Groups))
	for _, c := range columns {
		names = append(names, c.name)
		perGroup[c.group]++
		if c.categorical {
			categorical = append(categorical, c.name)
		}
	}
	expand := func(patterns ...string) (all []string) {
		for _, p := range patterns {
			more, err := expandRange(p)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, more...)
		}
		slices.Sort(all)
		return all
	}
	slices.Sort(names)
	slices.Sort(categorical)
	want := expand("TransactionDT", "TransactionAmt", "ProductCD", "card1-card6", "addr1-addr2", "dist1-dist2", "P_emaildomain",
		"R_emaildomain", "C1-C14", "D1-D15", "M1-M9", "V1-V339", "id_01-id_38", "DeviceType", "DeviceInfo")
	if d := cmp.Diff(want, names); d != "" || len(names) != 394-2+41-1 {
		t.Errorf("%d columns: %s", len(names), d)
	}
	wantCategorical := expand("ProductCD", "card1-card6", "addr1-addr2", "P_emaildomain", "R_emaildomain", "M1-M9", "DeviceType",
		"DeviceInfo", "id_12-id_38")
	if d := cmp.Diff(wantCategorical, categorical); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]int{19, 15, 358, 6, 34}, perGroup); d != "" {
		t.Error(d)
	}
	for _, g := range s.Groups {
		if len(g.About) < 40 {
			t.Errorf("group %s does not say why", g.Name)
		}
	}
}

// TestProblemsNameTheLine: where a configuration file is at fault, the error says on which lines.
func TestProblemsNameTheLine(t *testing.T) {
	var s Schema
	text := "id: key\nlabel: y\nlabels: [a, b]\nmax_levels: 2\nmin_count: 1\ngroups:\n" +
		"  - name: base\n    numeric:\n      - n1-n3\n  - name: more\n    numeric: [m]\n    categorical:\n      - n2\n"
	if err := yaml.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	err := s.Validate()
	if want := `column n2 is both in group "base" (line 9) and in group "more" (line 13)`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
