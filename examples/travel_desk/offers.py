"""Flights and hotels that the travel desk sells; prices in euros."""

from typing import Any

FLIGHTS: list[dict[str, Any]] = [
    {
        "flight_number": number,
        "origin": origin,
        "destination": destination,
        "departs": departs,
        "arrives": arrives,
        "price": price,
        "days": days.split(),
    }
    for number, origin, destination, departs, arrives, price, days in [
        ("TP533", "Berlin", "Lisbon", "06:50", "09:35", 129, "monday wednesday friday"),
        ("LH1172", "Berlin", "Lisbon", "13:05", "17:40", 184, "tuesday friday sunday"),
        ("FR8801", "Lisbon", "Berlin", "19:20", "23:55", 88, "wednesday sunday"),
        ("AZ422", "Berlin", "Rome", "09:30", "11:40", 97, "monday thursday friday"),
        ("VY6250", "Paris", "Rome", "07:15", "09:20", 64, "tuesday friday saturday"),
        ("AF1335", "Lisbon", "Paris", "11:10", "14:45", 142, "monday friday"),
        ("BA920", "London", "Berlin", "08:00", "10:55", 118, "monday tuesday friday"),
    ]
]

HOTELS: list[dict[str, Any]] = [
    {"hotel": hotel, "city": city, "price_per_night": price, "stars": stars}
    for hotel, city, price, stars in [
        ("Casa do Rio", "Lisbon", 92, 3),
        ("Miradouro Palace", "Lisbon", 210, 5),
        ("Hotel Spreebogen", "Berlin", 118, 4),
        ("Pension Kastanie", "Berlin", 64, 2),
        ("Albergo Testaccio", "Rome", 105, 3),
        ("Hotel du Canal", "Paris", 139, 3),
    ]
]

SIGHTS: dict[str, str] = {
    "berlin": "Berlin is best known for its museums, its lakes and the remains of the Wall.",
    "lisbon": "Lisbon is best known for its hills, its trams and the towers of Belem.",
    "paris": "Paris is best known for its bridges, its bakeries and the Louvre.",
    "rome": "Rome is best known for the Forum, the Vatican and its fountains.",
}
