"""``CALL sys.<procedure>(...)``: the procedures, their parameters, and how Spark calls them."""
