package people

import (
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"pipe/costs"
	"pipe/internal/realdata"
	"pipe/serve/people/hours"
)

// daysTo is a folder for what TestDays decided, for judges that are other programs. daysFrom is its first seed: the defaults of the
// settings were chosen on the seeds 0 to 9.
var (
	daysTo   = flag.String("days", "", "folder to which TestDays writes its requests as JSON")
	daysFrom = flag.Int("days-from", 0, "first seed of TestDays")
)

// image is a row of the table of four networks, with what a policy would expect.
type image struct {
	animal     bool      // by the first network, as a tag would be
	difficulty float64   // 1 - confidence of the first network
	costs      []float64 // expected: of the best pair of a network and a view, of the reviewers, of eva
	loss       float64   // real, of that best pair
}

// planted is a person whose answers follow a law: they are right with probability right - slope * difficulty of the image, and take
// a time whose logarithm is normal, with a mean of seconds and a spread of 0.4.
type planted struct {
	name         string
	expert       int // 1: reviewers, 2: eva
	right, slope float64
	seconds      float64
	perDay       time.Duration
	animals      bool // the person answers images of animals only, by a tag
}

var crew = []planted{
	{"ana", 1, 0.98, 0.10, 40, 60 * time.Minute, true},
	{"ben", 1, 0.96, 0.10, 30, 45 * time.Minute, false},
	{"eva", 2, 0.93, 0.20, 15, 30 * time.Minute, false},
}

const (
	peopleFee = 0.01 // of every answer of a person, besides the hours
	spread    = 0.4
)

// expects is the loss that a policy expects of the people of an expert.
func expects(expert int, d float64) float64 {
	sum, n := 0.0, 0.0
	for _, p := range crew {
		if p.expert == expert {
			sum, n = sum+1-p.right+p.slope*d, n+1
		}
	}
	return sum/n + peopleFee
}

// readImages reads the table. The losses that a policy expects of networks are the means of the 40 images that the first network
// sees most alike, among the odd rows; the even ones are requests.
func readImages(t testing.TB) (all []image) {
	folder := realdata.Folder(t, "outcomes", "cifar10-four-networks")
	rows := readTable(t, filepath.Join(folder, "features.csv.gz"))
	losses := map[string][]float64{}
	fees := []float64{0, 0.01, 0.02, 0.05}
	views := []float64{0, 0.01, 0.05}
	for k, r := range readTable(t, filepath.Join(folder, "outcomes.csv.gz")) {
		losses[r["id"]] = append(losses[r["id"]], number(t, r["loss"])+fees[k/3%4]+views[k%3])
	}
	seen := make([][]float64, len(rows))
	for i, r := range rows {
		for c := range 10 {
			seen[i] = append(seen[i], number(t, r[fmt.Sprintf("vit_p%d", c)]))
		}
	}
	for i := 0; i < len(rows); i += 2 {
		top := slices.Index(seen[i], slices.Max(seen[i]))
		d := 1 - seen[i][top]
		mean := nearest(seen, i, func(other int) []float64 { return losses[rows[other]["id"]] })
		best := slices.Index(mean, slices.Min(mean))
		all = append(all, image{
			animal: top >= 2 && top <= 7, difficulty: d, costs: []float64{mean[best], expects(1, d), expects(2, d)}, loss: losses[rows[i]["id"]][best],
		})
	}
	return all
}

// nearest is the mean of the losses of the 40 odd rows that are nearest to a row.
func nearest(seen [][]float64, i int, losses func(other int) []float64) []float64 {
	type near struct {
		at   int
		dist float64
	}
	var list []near
	for o := 1; o < len(seen); o += 2 {
		sum := 0.0
		for c := range seen[i] {
			sum += (seen[i][c] - seen[o][c]) * (seen[i][c] - seen[o][c])
		}
		list = append(list, near{o, sum})
	}
	slices.SortStableFunc(list, func(a, b near) int {
		if a.dist < b.dist {
			return -1
		}
		return 1
	})
	const k = 40
	mean := make([]float64, 12)
	for _, n := range list[:k] {
		for pair, l := range losses(n.at) {
			mean[pair] += l / k
		}
	}
	return mean
}

func readTable(t testing.TB, file string) (rows []map[string]string) {
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	list, err := csv.NewReader(z).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for _, cells := range list[1:] {
		row := map[string]string{}
		for i, c := range cells {
			row[list[0][i]] = c
		}
		rows = append(rows, row)
	}
	return rows
}

func number(t testing.TB, text string) float64 {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// week are the requests of five days, and what became of them.
type week struct {
	images []image
	took   []float64 // of the answer of a person, as a factor of the mean; drawn once, so that all rules meet the same
	at     []time.Time
}

// draw draws the requests of five days from nine to five.
func draw(all []image, r *rand.Rand, n int) week {
	var w week
	for day := range 5 {
		var times []time.Duration
		for range n / 5 {
			times = append(times, time.Duration(r.Float64()*float64(8*time.Hour)))
		}
		slices.Sort(times)
		for _, d := range times {
			w.at = append(w.at, newClock().at.AddDate(0, 0, day).Add(d))
			w.images = append(w.images, all[r.IntN(len(all))])
			w.took = append(w.took, math.Exp(spread*r.NormFloat64()-spread*spread/2))
		}
	}
	return w
}

// rule chooses the network (0), the reviewers (1) or eva (2) by the costs that are expected, the prices of people, and who is there.
type rule func(costs, prices []float64, there []bool) int

func argmin(costs, prices []float64, there []bool, price float64) int {
	best := 0
	for j := 1; j < len(costs); j++ {
		if there[j] && costs[j]+price*prices[j] < costs[best]+price*prices[best] {
			best = j
		}
	}
	return best
}

// priced is the rule of the server. greedy ignores prices. oneVersusAll also ignores fees: who is most likely right.
func priced(costs, prices []float64, there []bool) int { return argmin(costs, prices, there, 1) }
func greedy(costs, prices []float64, there []bool) int { return argmin(costs, prices, there, 0) }
func oneVersusAll(costs, prices []float64, there []bool) int {
	return argmin([]float64{costs[0], costs[1] - peopleFee, costs[2] - peopleFee}, prices, there, 0)
}

// played is what a rule made of a week.
type played struct {
	cost, loss float64         // expected by the policy, and real
	chosen     [3]int          // requests of the network, the reviewers and eva
	used       []time.Duration // of people
	late       int             // answers after the week
}

// play plays a week with a rule and the real queue, on a clock of its own.
func (w *week) play(t testing.TB, choose rule, r *rand.Rand) (out played) {
	c := newClock()
	s := DefaultSettings()
	s.Queue, s.KeepItems = 100_000, 100_000
	s.Experts = map[string]Expert{}
	for j, name := range []string{"", "reviewers", "eva"} {
		if j > 0 {
			s.Experts[name] = Expert{Seconds: 30, Lease: 5 * time.Minute}
		}
	}
	for _, p := range crew {
		s.List = append(s.List, Person{
			Name: p.name, Answers: []string{[]string{"", "reviewers", "eva"}[p.expert]}, Tags: map[bool][]string{true: {"animal"}, false: {"animal", "machine"}}[p.animals],
			Settings: hours.Settings{Office: []string{"mon-fri 09:00-17:00"}, PerDay: p.perDay},
		})
	}
	p := inMemory(t, s, c)
	a := &costs.Actions{Experts: []costs.Expert{{Name: "network"}, {Name: "reviewers"}, {Name: "eva"}}, Advice: []costs.Advice{{Name: "none"}}}
	type busy struct {
		item  *Item
		until time.Time
	}
	hands, of := map[string]busy{}, map[string]int{} // of items: the request
	claim := func(k int, who *planted) {
		item, found, err := p.ClaimNext(who.name)
		if !found || err != nil {
			return
		}
		took := time.Duration(who.seconds * w.took[of[item.ID]] * float64(time.Second))
		took = min(took, item.Claim.Until.Sub(c.at)-time.Millisecond)
		hands[who.name] = busy{item, c.at.Add(took)}
		out.used[k] += took
	}
	answer := func(who *planted) {
		b := hands[who.name]
		if _, err := p.Answer(b.item.ID, who.name, b.item.Claim.Token, Said{Text: "x"}); err != nil {
			t.Fatal(err)
		}
		delete(hands, who.name)
		if r.Float64() > who.right-who.slope*w.images[of[b.item.ID]].difficulty {
			out.loss++
		}
		if c.at.Sub(newClock().at) > 4*24*time.Hour+8*time.Hour {
			out.late++
		}
	}
	work := func(until time.Time) { // people work up to a time
		for {
			first := -1
			for k := range crew {
				b, has := hands[crew[k].name]
				if !has {
					claim(k, &crew[k])
					b, has = hands[crew[k].name]
				}
				if has && (first < 0 || b.until.Before(hands[crew[first].name].until)) {
					first = k
				}
			}
			if first < 0 || hands[crew[first].name].until.After(until) {
				break
			}
			c.at = hands[crew[first].name].until
			answer(&crew[first])
		}
		c.at = until
	}
	out.used = make([]time.Duration, len(crew))
	for i, m := range w.images {
		work(w.at[i])
		tag := map[bool]string{true: "animal", false: "machine"}[m.animal]
		fees, without := p.Ask([]string{tag})(a)
		there := []bool{true, true, true}
		for _, part := range without {
			there[map[string]int{"pair=reviewers/none": 1, "pair=eva/none": 2}[part.String()]] = false
		}
		j := choose(m.costs, fees, there)
		out.chosen[j]++
		out.cost += m.costs[j]
		if j == 0 {
			out.loss += m.loss
			continue
		}
		out.loss += peopleFee
		item, _, err := p.Put(New{Expert: a.Experts[j].Name, Tags: []string{tag}, Question: json.RawMessage(`1`)})
		if err != nil {
			t.Fatal(err)
		}
		of[item.ID] = i
	}
	for step := 0; len(p.queue.waiting) > 0; step++ {
		if step > 1_000_000 {
			t.Fatal("questions are never answered")
		}
		work(c.at.Add(10 * time.Second))
	}
	w.checkHours(t, p, out.used)
	return out
}

// checkHours: nobody worked more than the hours of a day.
func (w *week) checkHours(t testing.TB, p *People, used []time.Duration) {
	for k, who := range crew {
		var sum time.Duration
		for day := range 12 {
			d := p.queue.used[who.name][newClock().at.AddDate(0, 0, day).Format(time.DateOnly)]
			if sum += d; d > who.perDay {
				t.Errorf("%s worked %v on day %d", who.name, d, day)
			}
		}
		if (sum - used[k]).Abs() > time.Second {
			t.Errorf("%s worked %v; the queue says %v", who.name, used[k], sum)
		}
	}
}

// inMemory opens people without a journal.
func inMemory(t testing.TB, s Settings, c *clock) *People {
	t.Helper()
	s.Folder = "unused"
	p, err := Open(s, Options{Now: c.now, InMemory: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestDays: over weeks of requests for images, no hours are exceeded, and prices cost less than taking people while they have hours.
func TestDays(t *testing.T) {
	all := readImages(t)
	weeks, n := 10, 10_000
	if testing.Short() {
		weeks, n = 2, 2_000
	}
	for seed := *daysFrom; seed < *daysFrom+weeks; seed++ {
		w := draw(all, rand.New(rand.NewPCG(uint64(seed), 7)), n)
		var results []played
		for _, choose := range []rule{priced, greedy, oneVersusAll} {
			results = append(results, w.play(t, choose, rand.New(rand.NewPCG(uint64(seed), 8))))
		}
		us, greedy, ova := results[0], results[1], results[2]
		t.Logf("seed %d: cost %.1f, loss %.1f, chosen %v, used %v, late %d; greedy %.1f, %.1f %v; one versus all %.1f, %.1f", seed, us.cost, us.loss, us.chosen, us.used, us.late, greedy.cost, greedy.loss, greedy.chosen, ova.cost, ova.loss)
		if us.cost >= greedy.cost || us.cost >= ova.cost {
			t.Errorf("seed %d: prices cost %v, greedy %v, one versus all %v", seed, us.cost, greedy.cost, ova.cost)
		}
		if *daysTo != "" {
			w.write(t, filepath.Join(*daysTo, fmt.Sprintf("week-%02d.json", seed)), results)
		}
	}
}

// write writes the requests of a week for judges.
func (w *week) write(t testing.TB, file string, results []played) {
	type person struct {
		Expert  int    `json:"expert"`
		Answers int    `json:"answers"` // that the hours of the week have room for, at the mean time
		Animals bool   `json:"animals"`
		Name    string `json:"name"`
	}
	var out struct {
		Costs   [][]float64 `json:"costs"`
		Animal  []bool      `json:"animal"`
		People  []person    `json:"people"`
		Results []float64   `json:"results"` // priced, greedy, one versus all
	}
	for _, m := range w.images {
		out.Costs, out.Animal = append(out.Costs, m.costs), append(out.Animal, m.animal)
	}
	for _, p := range crew {
		out.People = append(out.People, person{p.expert, int(5 * p.perDay.Seconds() / p.seconds), p.animals, p.name})
	}
	for _, r := range results {
		out.Results = append(out.Results, r.cost)
	}
	text, err := json.Marshal(out)
	if err == nil {
		err = os.WriteFile(file, text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
