package report

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pipe/internal/safetext"
	"pipe/models/baseline"
)

// table is one table of a report, before it is rendered as text, Markdown or HTML.
type table struct {
	title   string
	caption string
	head    []string
	left    int        // the first left columns are words, the others are numbers
	rows    [][]string // cells as they are printed
	best    [][]int    // per row: columns to set in bold
	long    string     // heading of the column with long texts, if there is one
	place   place      // on the page
	folded  bool       // on the page only its title is shown at first
}

// place is a part of the page.
type place int

// The parts of the page. What is about all methods is the zero place.
const (
	onMethods place = iota
	onVerdict
	onCascades
	onFrontier
	onSegments
	onUse
	onExamples
	onCalibration
	onLearning
)

// column is one column of the method table.
type column struct {
	head string
	cell func(Row) string
}

var methodColumns = []column{
	{"true loss", Row.loss},
	{"excess", func(r Row) string { return PlusMinus(r.ExcessMean, r.ExcessStd) }},
	{"vs best fixed (95%)", func(r Row) string { return interval(r.DiffBestFixed) }},
	{"vs L2D (95%)", func(r Row) string { return interval(r.DiffL2D) }},
	{"vs best_fixed_train (SE)", func(r Row) string { return difference(r.PairedFixedTrain) }},
	{"vs l2d (SE)", func(r Row) string { return difference(r.PairedL2D) }},
	{"vs auto (95%)", func(r Row) string { return finely(r.DiffAuto) }},
	{"gap %", func(r Row) string { return percent(r.GapShare) }},
	{"advice %", func(r Row) string { return percent(r.AdviceRate) }},
	{"Bayes match %", func(r Row) string { return percent(r.BayesMatch) }},
	{"pair", func(r Row) string { return r.Pair }},
	{"remark", Row.Remark},
	{"seeds", func(r Row) string { return positive(r.Seeds) }},
	{"s per split", func(r Row) string { return seconds(r.Seconds) }},
}

// tables returns the tables of the report. Names that come from files cannot break out of their cells.
func (r *Report) tables() []table {
	ts := r.layOut()
	for i := range ts {
		t := &ts[i]
		t.title, t.caption = safetext.Line(t.title), safetext.Line(t.caption)
		for _, row := range append(t.rows, t.head) {
			for c := range row {
				row[c] = safetext.Line(row[c])
			}
		}
	}
	return ts
}

// layOut returns the tables of each setting, then those about all settings.
func (r *Report) layOut() []table {
	var ts []table
	for _, name := range r.SettingNames() {
		for _, t := range r.Of(name).settingTables() {
			if name != "" {
				t.title = fmt.Sprintf("%s (%s)", t.title, name)
			}
			ts = append(ts, t)
		}
	}
	if len(r.Retrieval) > 0 {
		ts = append(ts, r.recallTable())
	}
	if len(r.Latency) > 0 {
		ts = append(ts, r.latencyTable())
	}
	if len(r.Skipped) > 0 {
		ts = append(ts, r.skippedTable())
	}
	return ts
}

// settingTables returns the tables of one setting in reading order: the result first, then its explanation. The result
// is the verdict, and all methods are its last explanation; without a verdict they are the result.
func (r *Report) settingTables() []table {
	if len(r.Verdict) == 0 {
		return slices.Concat(r.cascadeTables(), []table{r.methodTable()}, r.explained())
	}
	return slices.Concat(r.answers(), r.explained(), []table{r.methodTable()})
}

// answers returns the tables of the verdict.
func (r *Report) answers() []table {
	ts := []table{r.verdictTable()}
	if t := r.expertUseTable(); len(t.rows) > 0 {
		ts = append(ts, t)
	}
	ts = append(ts, r.cascadeTables()...)
	for _, s := range r.Segments {
		ts = append(ts, s.table())
	}
	for _, e := range r.Examples {
		ts = append(ts, e.table())
	}
	if len(r.Learning) > 0 {
		ts = append(ts, r.learningTable())
	}
	return ts
}

// explained returns the tables that explain the result.
func (r *Report) explained() []table {
	var ts []table
	if t := r.deployableTable(); len(t.rows) > 0 {
		ts = append(ts, t)
	}
	if len(r.Lambdas()) > 1 {
		ts = append(ts, r.lambdaTable())
	}
	if len(r.sizes()) > 1 {
		ts = append(ts, r.sizeTable())
	}
	if t := r.regionTable(); len(t.rows) > 0 {
		ts = append(ts, t)
	}
	if len(r.BestAdvice) > 0 {
		ts = append(ts, r.bestAdviceTable())
	}
	for _, c := range r.Cells {
		ts = append(ts, c.table())
	}
	if len(r.Distribution) > 0 {
		ts = append(ts, r.distributionTable())
	}
	if len(r.Frontier) > 0 {
		ts = append(ts, r.frontierTable())
	}
	if len(r.Calibration) > 0 {
		ts = append(ts, r.calibrationTable(), r.calibrationPairTable(), r.reliabilityTable())
	}
	if len(r.Disclosure) > 0 {
		ts = append(ts, r.disclosureTable())
	}
	if len(r.Experts) > 0 {
		ts = append(ts, r.expertTable())
	}
	if len(r.Answers) > 0 {
		ts = append(ts, r.answerTable())
	}
	return ts
}

// methodsTitle is the title of the table of methods.
const methodsTitle = "Methods"

func (r *Report) methodTable() table {
	rows := r.headline()
	t := table{title: methodsTitle, caption: r.methodCaption(), head: []string{"lambda", "method"}, left: 2}
	for _, c := range methodColumns {
		t.head = append(t.head, c.head)
	}
	for _, row := range rows {
		cells := []string{Number(row.Lambda), row.Method}
		for _, c := range methodColumns {
			cells = append(cells, c.cell(row))
		}
		t.rows = append(t.rows, cells)
		var bold []int
		if isBest(row, rows) {
			bold = []int{1, 2}
		}
		t.best = append(t.best, bold)
	}
	t.dropEmpty()
	return t
}

// dropEmpty removes columns of numbers that are empty in every row; columns in bold are not among them.
func (t *table) dropEmpty() { t.dropEmptyFrom(t.left) }

// dropEmptyFrom removes the columns from first on that are empty in every row, of words too.
func (t *table) dropEmptyFrom(first int) {
	for c := len(t.head) - 1; c >= first; c-- {
		if slices.ContainsFunc(t.rows, func(cells []string) bool { return cells[c] != "" }) {
			continue
		}
		t.head = slices.Delete(t.head, c, c+1)
		if c < t.left {
			t.left--
		}
		for i := range t.rows {
			t.rows[i] = slices.Delete(t.rows[i], c, c+1)
		}
	}
}

func (r *Report) methodCaption() string {
	var b strings.Builder
	if ns := r.sizes(); len(ns) > 0 {
		fmt.Fprintf(&b, "%d training rows. ", ns[len(ns)-1])
	}
	spread := "standard deviation over seeds"
	if n := r.splits(); n > 0 {
		fmt.Fprintf(&b, "Means over %d splits; differences are paired by split. ", n)
		spread = "standard error over splits"
	}
	fmt.Fprintf(&b, "True loss is the mean realised cost of the executed pair, with its %s; lower is better. "+
		"Marked: the lowest policy, of which there is a file.", spread)
	if slices.Contains(r.methods(), baseline.BestFixed) {
		b.WriteString(" best_fixed is an oracle: it is chosen on the split it is reported on.")
	}
	return b.String()
}

// lambdaTable has one line per lambda and one column per method, true loss in the cells.
func (r *Report) lambdaTable() table {
	t := table{title: "True loss by lambda", caption: "lambda multiplies the base advice fees.", left: 1}
	rows := r.headline()
	t.pivot("lambda", r.methods(), rows, func(row Row) string { return Number(row.Lambda) })
	return t
}

// sizeTable has one line per training size and one column per method that was trained at more than one size.
func (r *Report) sizeTable() table {
	t := table{title: "True loss by number of training rows", left: 1}
	sized := map[string]map[int]bool{}
	for _, row := range r.Rows {
		if sized[row.Method] == nil {
			sized[row.Method] = map[int]bool{}
		}
		sized[row.Method][row.N] = true
	}
	names := slices.DeleteFunc(r.methods(), func(m string) bool { return len(sized[m]) < 2 })
	rows := slices.DeleteFunc(slices.Clone(r.Rows), func(row Row) bool { return row.N == 0 || !slices.Contains(names, row.Method) })
	slices.SortStableFunc(rows, func(a, b Row) int { return a.N - b.N })
	several := len(r.Lambdas()) > 1
	t.pivot("n", names, rows, func(row Row) string {
		if several && row.Lambda != nil {
			return fmt.Sprintf("%d, lambda %s", row.N, Number(row.Lambda))
		}
		return strconv.Itoa(row.N)
	})
	return t
}

// pivot fills the table with one line per value of key, in the order of rows, and one column per method.
func (t *table) pivot(corner string, names []string, rows []Row, key func(Row) string) {
	t.head = append([]string{corner}, names...)
	var groups [][]Row
	for _, row := range rows {
		k := key(row)
		if k == "" {
			continue
		}
		i := slices.IndexFunc(t.rows, func(cells []string) bool { return cells[0] == k })
		if i < 0 {
			i = len(t.rows)
			t.rows = append(t.rows, append([]string{k}, make([]string, len(names))...))
			groups = append(groups, nil)
		}
		groups[i] = append(groups[i], row)
		t.rows[i][1+slices.Index(names, row.Method)] = row.loss()
	}
	for _, group := range groups {
		var bold []int
		for _, row := range group {
			if isBest(row, group) {
				bold = append(bold, 1+slices.Index(names, row.Method))
			}
		}
		t.best = append(t.best, bold)
	}
}

func (r *Report) regionTable() table {
	t := table{title: "By region", left: 2, head: []string{"method", "region", "true loss", "Bayes match %"}}
	for _, row := range r.headline() {
		for _, g := range row.Regions {
			t.rows = append(t.rows, []string{row.Method, g.Name, PlusMinus(g.TrueLoss, nil), percent(g.BayesMatch)})
		}
	}
	return t
}

func (r *Report) bestAdviceTable() table {
	t := table{
		title: "Best advice per expert", left: 1,
		caption: "The advice with the smallest mean cost for each expert when it is used on every row; its cost in brackets.",
	}
	t.head = append([]string{"lambda"}, r.BestAdvice[0].Experts...)
	for _, b := range r.BestAdvice {
		cells := []string{Number(&b.Lambda)}
		for j, k := range b.Advice {
			if k == "" {
				cells = append(cells, "")
				continue
			}
			cells = append(cells, fmt.Sprintf("%s (%.3f)", k, b.Cost[j]))
		}
		t.rows = append(t.rows, cells)
	}
	return t
}

func (c CellTable) table() table {
	t := table{
		title: fmt.Sprintf("Expert by advice: %s, lambda %s", c.Name, Number(&c.Lambda)), left: 1,
		caption: "Mean cost of every pair, fees included. Marked: the cheapest pair.",
	}
	t.head = append([]string{"expert"}, c.Advice...)
	low := c.cheapest()
	for j, expert := range c.Experts {
		cells, bold := []string{expert}, []int(nil)
		for k, v := range c.TrueLoss[j] {
			cells = append(cells, PlusMinus(v, nil))
			if v != nil && low != nil && *v == *low {
				bold = append(bold, 1+k)
			}
		}
		t.rows = append(t.rows, cells)
		t.best = append(t.best, bold)
	}
	return t
}

// Text renders the table for a terminal, without its title and caption.
func (c CellTable) Text() string { return c.table().text() }

func (c CellTable) cheapest() (low *float64) {
	for _, row := range c.TrueLoss {
		for _, v := range row {
			if v != nil && (low == nil || *v < *low) {
				low = v
			}
		}
	}
	return low
}

func (r *Report) distributionTable() table {
	t := table{
		title: "Advice distribution", left: 3,
		caption: "How often each advice was bought, in %, over all rows and over the rows routed to each expert.",
	}
	t.head = append([]string{"lambda", "method", "expert", "rows %"}, r.Distribution[0].Advice...)
	for _, d := range r.Distribution {
		expert := d.Expert
		if expert == "" {
			expert = "(all)"
		}
		cells := []string{Number(&d.Lambda), d.Method, expert, percent(&d.Routed)}
		for _, s := range d.Share {
			cells = append(cells, percent(&s))
		}
		t.rows = append(t.rows, cells)
	}
	return t
}

// text aligns the cells in columns; a bold cell gets a star, because plain text has no bold.
func (t table) text() string {
	rows := [][]string{t.head}
	for i, row := range t.rows {
		cells := slices.Clone(row)
		for c := range cells {
			if slices.Contains(t.bold(i), c) && c >= t.left {
				cells[c] += " *"
			}
		}
		rows = append(rows, cells)
	}
	return safetext.Table(rows)
}

func (t table) bold(row int) []int {
	if row < len(t.best) {
		return t.best[row]
	}
	return nil
}
