package decisionlog

// decisionRow is a row of decisions as the Parquet library takes it. The library writes columns of Go types ten times as fast
// as single values. The columns that are read back are those of the tags of Record.
type decisionRow struct {
	ID            string     `parquet:"id,plain"`
	Time          int64      `parquet:"time,timestamp(microsecond:utc),plain"`
	Request       string     `parquet:"request,plain"`
	Source        string     `parquet:"source,dict"`
	Client        string     `parquet:"client,dict"`
	User          string     `parquet:"user,dict"`
	Policy        string     `parquet:"policy,dict"`
	Digest        string     `parquet:"digest,dict"`
	Canary        bool       `parquet:"canary"`
	Share         *float64   `parquet:"share,optional,plain"`
	Lambda        float64    `parquet:"lambda,plain"`
	ExpertFees    []float64  `parquet:"expert_fees,list"`
	AdviceFees    []float64  `parquet:"advice_fees,list"`
	PairFees      []float64  `parquet:"pair_fees,optional,list"`
	Available     []bool     `parquet:"available,list"`
	Action        int        `parquet:"action,int(32),plain"`
	Expert        string     `parquet:"expert,dict"`
	Advice        string     `parquet:"advice,dict"`
	Probability   float64    `parquet:"probability,plain"`
	Greedy        int        `parquet:"greedy,int(32),plain"`
	Propensity    []float64  `parquet:"propensity,list"`
	OwnPropensity []float64  `parquet:"own_propensity,optional,list"`
	ExpectedLoss  []*float32 `parquet:"expected_loss,optional,list"`
	ExpectedCost  []*float32 `parquet:"expected_cost,optional,list"`
	Guarded       bool       `parquet:"guarded"`
	Keep          float64    `parquet:"keep,plain"`
	Executed      int        `parquet:"executed,int(32),plain"`
	AttemptAction []int32    `parquet:"attempt_action,list"`
	AttemptStatus []int32    `parquet:"attempt_status,list"`
	AttemptMicros []int64    `parquet:"attempt_us,list"`
	AttemptError  []string   `parquet:"attempt_error,list"`
	Stages
	TokensIn      *int64     `parquet:"tokens_in,optional,plain"`
	TokensCached  *int64     `parquet:"tokens_cached,optional,plain"`
	TokensOut     *int64     `parquet:"tokens_out,optional,plain"`
	Model         string     `parquet:"model,dict"`
	Fee           *float64   `parquet:"fee,optional,plain"`
	PriceDate     string     `parquet:"price_date,dict"`
	ShadowPolicy  []string   `parquet:"shadow_policy,list"`
	ShadowDigest  []string   `parquet:"shadow_digest,list"`
	ShadowAction  []int32    `parquet:"shadow_action,list"`
	ShadowCost    []*float64 `parquet:"shadow_cost,list"`
	Error         string     `parquet:"error,dict"`
	FeatureDigest string     `parquet:"features_digest,plain"`
	Features      []float32  `parquet:"features,list"`
}

// wideRow is a row of a segment with values that most segments lack: prices of usage, tokens of special kinds, masked experts,
// sessions, budgets, guarantees. Others have no such columns.
type wideRow struct {
	decisionRow
	UsagePrices []float64 `parquet:"usage_prices,optional,list"`
	TokenParts  []float64 `parquet:"token_parts,optional,list"`
	Masked      string    `parquet:"masked,optional,dict"`
	Session     string    `parquet:"session,dict"`
	Turn        int       `parquet:"turn,int(32),plain"`
	SwitchCost  *float64  `parquet:"switch_cost,optional,plain"`
	Kept        string    `parquet:"kept,dict"`

	Budgets       string    `parquet:"budgets,dict"`
	BudgetPrices  []float64 `parquet:"budget_prices,optional,list"`
	BudgetDecided bool      `parquet:"budget_decided"`

	Accepted   *bool    `parquet:"accepted,optional"`
	Instead    string   `parquet:"instead,dict"`
	InsteadFee *float64 `parquet:"instead_fee,optional,plain"`
}

// stagedRow is a row of a segment with decisions of cascades. Others have no such columns.
type stagedRow struct {
	wideRow
	StageAction     []int32    `parquet:"stage_action,list"`
	StagePropensity []*float64 `parquet:"stage_propensity,list"`
	StageFee        []*float64 `parquet:"stage_fee,list"`
	StageIn         []*float64 `parquet:"stage_tokens_in,list"`
	StageCached     []*float64 `parquet:"stage_tokens_cached,list"`
	StageOut        []*float64 `parquet:"stage_tokens_out,list"`
	StageMicros     []int64    `parquet:"stage_us,list"`
	StageFacts      []string   `parquet:"stage_facts,list"`

	StagePairFees  []float64 `parquet:"stage_pair_fees,optional,list"`
	StageAvailable []bool    `parquet:"stage_available,optional,list"`
}

func stagedRowOf(r *Record, p *PolicyInfo) stagedRow {
	out := stagedRow{wideRow: wideRowOf(r, p), StagePairFees: r.StagePairFees, StageAvailable: r.StageAvailable}
	for i := range r.Cascade {
		s := &r.Cascade[i]
		out.StageAction, out.StageMicros, out.StageFacts = append(out.StageAction, int32(s.Action)), append(out.StageMicros, s.Micros), append(out.StageFacts, s.Facts)
		out.StagePropensity, out.StageFee = append(out.StagePropensity, unlessNaN(&s.Propensity)), append(out.StageFee, unlessNaN(&s.Fee))
		out.StageIn, out.StageCached, out.StageOut = append(out.StageIn, unlessNaN(&s.In)), append(out.StageCached, unlessNaN(&s.Cached)), append(out.StageOut, unlessNaN(&s.Out))
	}
	return out
}

func wideRowOf(r *Record, p *PolicyInfo) wideRow {
	row := wideRow{rowOf(r, p), r.UsagePrices, r.TokenParts, r.Masked, r.Session, r.Turn, nil, r.Kept, r.Budgets, r.BudgetPrices, r.BudgetDecided, nil, r.Instead, nil}
	if r.SwitchCostKnown {
		row.SwitchCost = &r.SwitchCost
	}
	if r.AcceptedKnown {
		row.Accepted = &r.Accepted
	}
	if r.InsteadFeeKnown {
		row.InsteadFee = &r.InsteadFee
	}
	return row
}

// rowOf is a record as a row. The row refers to the record's memory.
func rowOf(r *Record, p *PolicyInfo) decisionRow {
	j, k := p.Actions.Pair(r.Action)
	out := decisionRow{
		ID: r.ID, Time: r.Time, Request: r.Request, Source: r.Source, Client: r.Client, User: r.User, Policy: r.Policy, Digest: r.Digest,
		Canary: r.Canary, Lambda: r.Lambda, ExpertFees: r.ExpertFees, AdviceFees: r.AdviceFees, PairFees: r.PairFees,
		Available: r.Available, Action: r.Action, Expert: p.Actions.Experts[j].Name, Advice: p.Actions.Advice[k].Name,
		Probability: r.Propensity[r.Action], Greedy: r.Greedy, Propensity: r.Propensity, OwnPropensity: r.OwnPropensity, ExpectedLoss: present(r.ExpectedLoss), ExpectedCost: present(r.ExpectedCost),
		Guarded: r.Guarded, Keep: r.Keep, Executed: r.Executed, Stages: r.Stages, Model: r.Model, PriceDate: r.PriceDate,
		Error: r.Error, FeatureDigest: r.FeaturesDigest, Features: r.Features,
	}
	for i := range r.Attempts {
		a := &r.Attempts[i]
		out.AttemptAction, out.AttemptStatus = append(out.AttemptAction, int32(a.Action)), append(out.AttemptStatus, int32(a.Status))
		out.AttemptMicros, out.AttemptError = append(out.AttemptMicros, a.Micros), append(out.AttemptError, a.Error)
	}
	for i := range r.Shadows {
		s := &r.Shadows[i]
		out.ShadowPolicy, out.ShadowDigest = append(out.ShadowPolicy, s.Policy), append(out.ShadowDigest, s.Digest)
		out.ShadowAction, out.ShadowCost = append(out.ShadowAction, int32(s.Action)), append(out.ShadowCost, unlessNaN(&s.ExpectedCost))
	}
	if r.Usage.Known {
		out.TokensIn, out.TokensOut = &r.Usage.In, &r.Usage.Out
		if r.Usage.CachedKnown {
			out.TokensCached = &r.Usage.Cached
		}
	}
	if r.Share != ShareUnknown {
		out.Share = &r.Share
	}
	if r.FeeKnown {
		out.Fee = &r.Fee
	}
	return out
}

// present points to the numbers of a list that are not NaN; nil for nil.
func present(list []float32) []*float32 {
	if list == nil {
		return nil
	}
	out := make([]*float32, len(list))
	for i := range list {
		out[i] = unlessNaN(&list[i])
	}
	return out
}

func unlessNaN[T float32 | float64](v *T) *T {
	if *v != *v {
		return nil
	}
	return v
}
