package cascade

import (
	"encoding/json"
	"strconv"

	"pipe/models/policy"
)

// metadata returns the key-value pairs of the file.
func (p *Policy) metadata() map[string]string {
	m := make(map[string]string, len(p.Info)+len(reserved))
	set := func(key, value string) { m[keyPrefix+key] = value }
	for key, value := range p.Info {
		set(key, value)
	}
	format := formatFixed
	if p.Prices != nil {
		format = formatAnyPrice
		set(policy.PricesKey, p.Prices.JSON())
	}
	set(formatKey, strconv.Itoa(format))
	set(kindKey, Kind)
	set(actionsKey, string(p.Actions.JSON()))
	set(lambdaKey, strconv.FormatFloat(p.Lambda, 'g', -1, 64))
	set(dimKey, strconv.Itoa(p.Dim))
	set(factsKey, jsonOf(p.Facts))
	set(stagesKey, strconv.Itoa(p.Stages))
	set(statesKey, jsonOf(p.executed()))
	return m
}

func jsonOf(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain numbers and strings
	}
	return string(b)
}
