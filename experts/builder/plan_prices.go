package builder

import (
	"context"

	"pipe/costs"
	"pipe/costs/prices"
	"pipe/experts/builder/part"
)

// recordPrices keeps in the metadata what fees are worth and from which prices they follow, if all do and have one currency and
// one scale.
func (p *plan) recordPrices(context.Context) error {
	list := &prices.Table{Models: make(map[string][]prices.Period)}
	models := make(map[string]string) // by expert
	var money costs.Money
	for _, e := range p.Experts {
		price, ok := p.session.Price(part.ExpertName(e.Name))
		m, metered := e.Expert.(part.Metered)
		switch {
		case metered && m.Metered() && (!ok || price.Money.Currency == ""):
			return nil
		case !ok:
			continue
		case money != costs.Money{} && money != price.Money:
			return nil
		}
		money, models[e.Name] = price.Money, price.Model
		if earlier, is := list.Models[price.Model]; is && !samePrice(earlier[0], price.Period) {
			models[e.Name] = e.Name // two services of one model
		}
		list.Models[models[e.Name]] = []prices.Period{price.Period}
	}
	if len(models) == 0 {
		return nil
	}
	list.Currency = money.Currency
	var recorded prices.Recorded
	recorded.Name(p.actions, list, func(expert string) string {
		if model, ok := models[expert]; ok {
			return model
		}
		return expert
	})
	text, err := recorded.Text()
	p.record(costs.MoneyKey, money.Text())
	p.record(costs.PricesKey, text)
	return err
}

// record adds metadata to the tensor.
func (p *plan) record(key, text string) {
	if p.options.Meta == nil {
		p.options.Meta = make(map[string]string)
	}
	p.options.Meta[key] = text
}

func samePrice(a, b prices.Period) bool { return *a.In == *b.In && *a.Out == *b.Out }
