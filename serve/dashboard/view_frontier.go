package dashboard

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"pipe/pipeline/report/page"
)

// frontierSection shows the frontier, or why there is none.
func frontierSection(f *Frontier, err error) page.Section {
	s := page.Section{ID: "frontier", Title: "Fees and losses at these prices"}
	if err != nil {
		s.Blocks = []page.Block{{List: []string{sentence(err)}}}
		return s
	}
	caption := fmt.Sprintf("What %s decides on %s, by its own expectations. There are no intervals.", f.Policy+"@"+shortDigest(f.Digest), plural(int64(f.Rows), "recent row"))
	if f.File != nil {
		caption += " What it decides at the prices of the file is paid at these prices."
	}
	if len(f.Curve) > 0 {
		caption += " The curve multiplies all fees, from 0 to 64 times."
	}
	t := &page.Table{Title: "The policy and the pairs at these prices", Head: head("always this pair", "mean expected cost", "<share in the policy", "mean fee", "mean expected loss")}
	t.Rows = append(t.Rows, []page.Cell{name("the policy"), {Text: cost(f.Chosen.Cost), Bold: true}, word(""), cell(cost(f.Chosen.Fee)), cell(cost(f.Chosen.Loss))})
	pairs := slices.Clone(f.Pairs)
	slices.SortStableFunc(pairs, func(a, b pairPoint) int { return cmp.Compare(a.Cost, b.Cost) })
	const most = 12
	for i, p := range pairs {
		if i >= most && p.Share == 0 {
			continue
		}
		t.Rows = append(t.Rows, []page.Cell{name(p.Pair), cell(cost(p.Cost)), {Text: percent(p.Share), Word: true, Bar: page.Bar(p.Share)}, cell(cost(p.Fee)), cell(cost(p.Loss))})
	}
	if hidden := len(f.Pairs) + 1 - len(t.Rows); hidden > 0 {
		t.Caption = fmt.Sprintf("%s that cost more and are never taken are left out.", plural(int64(hidden), "pair"))
	}
	s.Blocks = []page.Block{{Figure: frontierChart(f, caption)}, {Table: t}}
	if len(f.Unchecked) > 0 {
		var list []string
		for _, u := range f.Unchecked {
			list = append(list, "The guard did not check the policy at these prices: "+u+".")
		}
		s.Blocks = append(s.Blocks, page.Block{List: list})
	}
	return s
}

// sentence formats an error as a sentence, with its hint.
func sentence(err error) string {
	out := capital(err.Error()) + "."
	var hinted interface{ Hint() string }
	if errors.As(err, &hinted) {
		if hint := hinted.Hint(); hint != "" {
			out += " " + capital(hint) + "."
		}
	}
	return out
}

// capital makes the first letter of a text upper case, if it is one of a to z.
func capital(s string) string {
	if s != "" && s[0] >= 'a' && s[0] <= 'z' {
		return string(s[0]-'a'+'A') + s[1:]
	}
	return s
}
