using System;
using System.Collections.Generic;

namespace Shop
{
    public sealed class Prices
    {
        readonly List<KeyValuePair<string, decimal>> list = new List<KeyValuePair<string, decimal>>();

        public void Add(string article, decimal price)
        {
            list.Add(new KeyValuePair<string, decimal>(article, price));
        }

        public decimal Find(string article)
        {
            foreach (KeyValuePair<string, decimal> price in list)
            {
                if (string.Equals(price.Key, article, StringComparison.OrdinalIgnoreCase))
                {
                    return price.Value;
                }
            }
            throw new KeyNotFoundException(article);
        }
    }
}
